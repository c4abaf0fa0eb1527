/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_REQUESTER_H
#define VIEW_FUSE_REQUESTER_H

/* The caller of a request, in a mount that is shared with other users (allow_other). Only root can
 * make such a mount. If root is the caller, root sees everything that its capabilities allow. In a
 * mount that is not shared, no caller is determined, as the kernel refuses other users. Any thread.
 *
 * The kernel provides uid, gid and thread id of a request. Supplementary groups are read from /proc
 * (view/tree/caller.h). */

#include "base/stop.h"
#include "view/fuse/fuse.h"
#include "view/tree/caller.h"
#include "view/tree/view.h"

struct requester {
	struct view_call call; /* argument for calls of the view; points to the other two fields */
	struct caller caller;
	struct cancellation cancellation; /* requested when the kernel interrupts the request */
};

/* Returns a cancellation that is requested when the kernel interrupts this request. */
struct cancellation requester_cancellation(fuse_req_t request);

/* Determines the caller, and reports the request to the watcher thread. Returns 0, -EACCES if the
 * caller is unknown, or another -errno. In each case, requester_deinit frees the caller. */
MUST_CHECK int requester_init(struct requester *requester, fuse_req_t request);

static inline void requester_deinit(struct requester *requester)
{
	caller_free(&requester->caller);
}
#define CLEANUP_REQUESTER CLEANUP(requester_deinit)

#endif
