/* SPDX-License-Identifier: MIT */
#include "view/fuse/requester.h"

#include "view/fuse/callbacks.h"

static bool is_interrupted(void *request)
{
	return fuse_req_interrupted(request) != 0;
}

struct cancellation requester_cancellation(fuse_req_t request)
{
	return (struct cancellation){is_interrupted, request};
}

int requester_init(struct requester *requester, fuse_req_t request)
{
	struct session *session = session_of(request);
	const struct fuse_ctx *context = fuse_req_ctx(request);
	int r;

	if (!watcher_thread_is_from_mounter(&session->watcher, request))
		watcher_thread_note_request(&session->watcher, context->pid);
	*requester = (struct requester){.cancellation = requester_cancellation(request)};
	requester->call =
		(struct view_call){.view = session->view, .cancellation = &requester->cancellation};
	if (!session->settings.options.shared)
		return 0;
	r = caller_read(&requester->caller, context->pid, context->uid, context->gid);
	if (r < 0 || !requester->caller.reads_all)
		requester->call.caller = &requester->caller;
	return r;
}
