/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_NOTIFIER_H
#define VIEW_FUSE_NOTIFIER_H

/* The thread that invalidates the kernel's caches, then answers waiting requests and wakes
 * programs that poll .twinfs/events.
 *
 *	commit --session_invalidate--> queue --notifier--> /dev/fuse
 *	                                          |
 *	                                          +--> polling and waiting programs
 *
 * The thread holds no lock while it writes to /dev/fuse. During this write, the kernel takes the
 * lock of the directory's inode. So the write waits for lookups and listings that other threads of
 * this process must answer.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "view/fuse/fuse.h"
#include "view/fuse/handle.h"
#include "view/tree/invalidation.h"

struct session;
struct sync_waiter;

struct notifier {
	pthread_mutex_t lock; /* protects the fields up to running */
	pthread_cond_t changed; /* work arrived, or the thread has ended; monotonic clock */
	struct invalidation *first, *last;
	uint64_t queued, done; /* number of invalidations queued, and processed by the kernel */
	struct sync_waiter *waiters;
	uint64_t synced; /* highest ticket of session_synced, and its error */
	int sync_error;
	uint64_t rechecked; /* highest ticket of session_rechecked */
	/* tickets for which an open timed out, or 0 */
	uint64_t timed_out_synced, timed_out_rechecked;
	bool running;
	bool started; /* accessed by the session's thread only */
	pthread_t thread;

	atomic_bool stopping; /* permanent; cancels all waiters. Set with the lock held */
};

void notifier_init(struct notifier *notifier);

/* Frees unprocessed invalidations. The thread must have been stopped. */
void notifier_deinit(struct notifier *notifier);

/* Starts the thread of a session. Returns 0 or -errno. */
MUST_CHECK int notifier_start(struct session *session);

/* Stops the thread, waits for its end, and replies to all waiters: ECANCELED to
 * reads, ESTALE to opens. Other threads must
 * still answer requests meanwhile, or the connection must be aborted. Any thread except the
 * notifier and those that answer requests. May be called several times. */
void notifier_stop(struct session *session);

/* Joins the thread, if notifier_start started it. Call it after notifier_stop. */
void notifier_join(struct notifier *notifier);

/* ---- requests that wait -------------------------------------------------------------- */

/* Programs that read .twinfs/sync or remap. Each request waits in a list, without a thread, until
 * the kernel has processed the invalidations of all changes made before the request. An open that
 * needs a recheck or a comparison first waits in the same list, for at most OPEN_WAIT_MS.
 *
 * The list is protected by the notifier's lock. libfuse holds a lock of a request while it calls
 * the interrupt callback, but takes no lock of a request for a reply. So libfuse's lock precedes
 * the notifier's, and replies are sent without the notifier's lock. The thread that removes a
 * request from the list replies to it. A request is removed only after libfuse has returned from
 * registering its callback (registered).
 */

/* Handles a read of .twinfs/sync or remap. At offset 0 the reply is sent later, with the state of
 * that time. At other offsets the rest of the last such reply is sent at once. */
void sync_read(struct session *session, fuse_req_t request, struct handle *handle, size_t size,
	       size_t offset);

/* Replies ESTALE to an open after the file was rechecked, so that the kernel looks its path up
 * again and opens the new node. If an earlier open timed out while it waited for a recheck or
 * comparison that is still not finished, this open does not wait for one.
 *
 * compare	wait until the file was compared as well
 */
void sync_refuse_open(struct session *session, fuse_req_t request, bool compare);

#endif
