/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_REQUESTER_H
#define MOUNT_REQUESTER_H

/* The caller of a request, in a mount that is shared with other users (allow_other). Only root can
 * make such a mount. If root is the caller, it sees everything that its capabilities allow. In a
 * mount that is not shared, no caller is determined, as the kernel refuses other users. Any thread.
 *
 * The kernel provides uid, gid and thread id of a request. Supplementary groups are read from /proc
 * (base/caller.h). */

#include "base/caller.h"
#include "base/cancellation.h"
#include "mount/fuse.h"
#include "view/view.h"

struct requester {
	struct view_call call; /* for calls of the view; points to the other two fields */
	struct caller caller;
	struct cancellation cancellation; /* set when the request is interrupted */
};

/* Returns the cancellation state of a request, for work on its behalf. */
struct cancellation requester_cancellation(fuse_req_t request);

/* Returns 0, -EACCES if the caller cannot be determined, or another -errno. */
MUST_CHECK int requester_init(struct requester *requester, fuse_req_t request);

static inline void requester_deinit(struct requester *requester)
{
	caller_free(&requester->caller);
}
#define CLEANUP_REQUESTER CLEANUP(requester_deinit)

#endif
