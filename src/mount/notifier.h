/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_NOTIFIER_H
#define MOUNT_NOTIFIER_H

/* The thread that invalidates the kernel's caches, then answers waiting requests (mount/sync.h) and
 * wakes programs that poll .twinfs/events.
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
#include "view/invalidation.h"

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

/* Stops the thread, waits for its end, and replies to all waiters (sync_cancel). Other threads must
 * still answer requests meanwhile, or the connection must be aborted. Any thread except the
 * notifier and those that answer requests. May be called several times. */
void notifier_stop(struct session *session);

/* Joins the thread, if notifier_start started it. Call it after notifier_stop. */
void notifier_join(struct notifier *notifier);

#endif
