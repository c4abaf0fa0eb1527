/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_HANDLE_H
#define VIEW_FUSE_HANDLE_H

/* Files of the view that programs have open. A list contains them, so that a session can close them
 * at its end. Any thread.
 *
 * Handles are reference-counted. The open is one reference, and each unfinished read is another.
 * The kernel can send the release while the thread that replied to the last read is still in
 * write(2).
 */

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "view/tree/view.h"

/* ---- open quota ---------------------------------------------------------------------- */

/* The number of files of a shared view that each user has open. Each file takes a descriptor of
 * this process, and one user must not exhaust them.
 *
 * A limit for all open files applies to users other than root. A user may open a further file while
 * the user has fewer open files than the limit leaves unused (dynamic thresholds: Choudhury and
 * Hahne, 1998). So the first user gets at most half of the limit, and the next user half of the
 * rest. Descriptors above the limit are for root and for twinfs itself. One thread at a time. */

#define OPEN_QUOTAS_BUCKETS 256

/* The files that a user has open. */
struct open_quota {
	uid_t uid;
	size_t count;
	struct open_quota *next; /* next user in the bucket */
};

struct open_quotas {
	size_t most; /* with this many files open, only root can open another */
	size_t taken; /* open files of all users, including root */
	struct open_quota *buckets[OPEN_QUOTAS_BUCKETS];
};

/* Computes the limit from that of this process (descriptors_max()). */
void open_quotas_init(struct open_quotas *quotas);

/* Counts a file before it is opened.
 *
 * uid	NULL: a user without limit, for whom *quota is set to NULL
 *
 * Returns 0, -EMFILE if the user has too many files open, or -ENOMEM. */
MUST_CHECK int open_quotas_take(struct open_quotas *quotas, const uid_t *uid,
				struct open_quota **quota);

/* Counts a closed file. quota is that of open_quotas_take(), and may be NULL. */
void open_quotas_return(struct open_quotas *quotas, struct open_quota *quota);

/* ---- handle -------------------------------------------------------------------------- */

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
 * (struct open_quotas). */
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
