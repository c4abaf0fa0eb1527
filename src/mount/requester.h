/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_REQUESTER_H
#define MOUNT_REQUESTER_H

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

struct requester {
	struct view_call call; /* for calls of the view; points to the other two */
	struct caller caller;
	struct interruption interruption; /* of the request */
};

/* How long work for a request sees that the program that made it was interrupted. */
struct interruption requester_interruption(fuse_req_t request);

/* 0, -EACCES: nobody knows who it is, or -errno. */
MUST_CHECK int requester_init(struct requester *requester, fuse_req_t request);

static inline void requester_deinit(struct requester *requester)
{
	caller_free(&requester->caller);
}
#define CLEANUP_ASKER CLEANUP(requester_deinit)

#endif
