/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_HANDLE_H
#define MOUNT_HANDLE_H

/* Files of the view that programs have open. A list contains them, so that a session can close them
 * at its end. Any thread.
 *
 * Handles are reference-counted. The open is one reference, and each unfinished read is another.
 * The kernel can send the release while the thread that replied to the last read is still in
 * write(2).
 */

#include <pthread.h>
#include <stdint.h>

#include "base/attributes.h"
#include "mount/open_quota.h"
#include "view/view.h"

struct fuse_pollhandle;

struct handle {
	struct view_file file;

	/* private to handle.c */
	struct handle_list *list;
	struct handle *previous, *next;
	unsigned int uses;
	struct open_quota *quota; /* quota of the user who opened the file, or NULL */
	/* poll handle to notify when the file becomes readable, or NULL */
	struct fuse_pollhandle *poll;
};

struct handle_list {
	pthread_mutex_t lock;
	struct handle *first;
	size_t polled; /* handles with poll set */
	struct open_quotas quotas;
};

void handle_list_init(struct handle_list *list);

/* Closes all remaining handles. No thread may use them any more. */
void handle_list_deinit(struct handle_list *list);

/* Opens a file of the view. The caller gets one reference, which it must drop. Returns 0, an
 * outcome or -errno of view_open, -ENOMEM, or -EMFILE if the caller has too many files open
 * (mount/open_quota.h). */
MUST_CHECK int handle_open(struct handle_list *list, const struct view_call *call, uint64_t node,
			   struct handle **handle);

/* Returns whether any file is open. */
bool handle_list_has_any(struct handle_list *list);

/* Adds a reference and returns the handle. The caller must have one already. */
struct handle *handle_use(struct handle *handle);

/* Sets the poll handle to notify when the file becomes readable, and destroys the previous one.
 * Takes poll. */
void handle_set_poll(struct handle *handle, struct fuse_pollhandle *poll);

/* Notifies and destroys the poll handles of files that are readable now. Writes to /dev/fuse,
 * without a lock. */
void handles_wake_pollers(struct handle_list *list, struct view *view);

/* Drops a reference. The last one closes the file. Accepts NULL. */
void handle_drop(struct handle *handle);
static inline void handle_dropp(struct handle **handle)
{
	handle_drop(*handle);
}
#define CLEANUP_HANDLE CLEANUP(handle_dropp)

#endif
