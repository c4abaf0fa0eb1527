/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_HANDLE_H
#define MOUNT_HANDLE_H

/* Which files the kernel has open, so that a session that ends while some are open still closes
 * them. Any thread.
 *
 * A handle lives as long as the last of its uses. Opening is one, and so is each request that works
 * on it: the kernel has an answer, and may already ask to close, while the thread that gave it is
 * still inside write(2).
 */

#include <pthread.h>
#include <stdint.h>

#include "base/attributes.h"
#include "mount/open_quota.h"
#include "view/view.h"

struct fuse_pollhandle;

struct handle {
	struct view_file file;

	/* for handle.c */
	struct handle_list *list;
	struct handle *previous, *next;
	unsigned int uses;
	struct open_quota *quota; /* of who opened it, or NULL */
	struct fuse_pollhandle *poll; /* who waits for the file to become readable, or NULL */
};

struct handle_list {
	pthread_mutex_t lock;
	struct handle *first;
	size_t polled; /* handles that somebody waits for */
	struct open_quotas shares;
};

MUST_CHECK int handle_list_init(struct handle_list *list);

/* Closes all that is left; nobody may use any of it. */
void handle_list_deinit(struct handle_list *list);

/* Opens a file of the view, with one use that the caller has to let go. 0, or an outcome or -errno
 * of view_open; -EMFILE: a viewer who is not root has too many open (mount/open_quotas.h). */
MUST_CHECK int handle_open(struct handle_list *list, const struct view_call *call, uint64_t node,
			   struct handle **handle);

/* Is any file open? */
bool handle_list_has_any(struct handle_list *list);

/* One use more, of a handle that has one. Returns it. */
struct handle *handle_use(struct handle *handle);

/* Takes note of who wants to be woken when the file becomes readable, instead of who wanted it
 * before. Takes poll. */
void handle_set_poll(struct handle *handle, struct fuse_pollhandle *poll);

/* Wakes those who wait for files that are readable now. Writes to /dev/fuse. */
void handles_wake_pollers(struct handle_list *list, struct view *view);

/* Lets go of a use; the last one closes. Accepts NULL. */
void handle_drop(struct handle *handle);
static inline void handle_dropp(struct handle **handle)
{
	handle_drop(*handle);
}
#define CLEANUP_HANDLE CLEANUP(handle_dropp)

#endif
