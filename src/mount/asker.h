/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_ASKER_H
#define MOUNT_ASKER_H

/* Who asks for something, in a mount that is shared with other users (allow_other). Only root
 * mounts one, and root sees everything, if it has the capability for that; to a mount that is not shared nobody else comes, and
 * nothing is done to find out who it is. Any thread.
 *
 * The kernel says with each request which user and group asks, and which thread: its further groups
 * are read from /proc (base/caller.h). */

#include "base/caller.h"
#include "base/interruption.h"
#include "mount/fuse.h"
#include "view/view.h"

struct asker {
	struct viewer viewer; /* for calls of the view; points to the other two */
	struct caller caller;
	struct interruption interruption; /* of the request */
};

/* How long work for a request sees that the program that made it was interrupted. */
struct interruption asker_interruption(fuse_req_t request);

/* 0, -EACCES: nobody knows who it is, or -errno. */
MUST_CHECK int asker_init(struct asker *asker, fuse_req_t request);

static inline void asker_deinit(struct asker *asker)
{
	caller_free(&asker->caller);
}
#define CLEANUP_ASKER CLEANUP(asker_deinit)

#endif
