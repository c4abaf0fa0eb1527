/* SPDX-License-Identifier: MIT */
#include "mount/asker.h"

#include "mount/callbacks.h"

static bool is_interrupted(void *request)
{
	return fuse_req_interrupted(request) != 0;
}

struct interruption asker_interruption(fuse_req_t request)
{
	return (struct interruption){is_interrupted, request};
}

int asker_init(struct asker *asker, fuse_req_t request)
{
	struct session *session = session_of(request);
	const struct fuse_ctx *context = fuse_req_ctx(request);
	int r;

	if (!refresher_is_asker(&session->refresher, request))
		refresher_asked(&session->refresher, context->pid);
	*asker = (struct asker){.interruption = asker_interruption(request)};
	asker->viewer =
		(struct viewer){.view = session->view, .interruption = &asker->interruption};
	if (!session->settings.shared)
		return 0;
	r = caller_read(&asker->caller, context->pid, context->uid, context->gid);
	if (r < 0 || !asker->caller.reads_all)
		asker->viewer.caller = &asker->caller;
	return r;
}
