/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_NOTIFIER_H
#define MOUNT_NOTIFIER_H

/* The thread that tells the kernel what to drop, and who waits for it: readers of .twinfs/sync
 * (mount/sync.h) and of events.
 *
 *	who commits --session_tell--> notices --notifier--> /dev/fuse
 *	                                          |
 *	                                          +--> events, waiters
 *
 * It holds no lock while it writes to /dev/fuse: the kernel takes the lock of a directory's inode
 * there, and so waits for lookups and listings in it that our other threads have yet to answer.
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
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed; /* there is something to do, or the thread has ended; monotonic */
	struct invalidation *first, *last;
	uint64_t told, done; /* notices that came, and of which the kernel knows */
	struct sync_waiter *waiters;
	uint64_t synced; /* the highest ticket of session_synced, and its error */
	int sync_error;
	uint64_t rechecked; /* the highest ticket of session_rechecked */
	uint64_t late_synced, late_rechecked; /* tickets that an open waited for in vain, 0 */
	bool running;
	bool started; /* by the session's thread, which alone looks */
	pthread_t thread;

	atomic_bool stopping; /* for good; nobody waits any more. Set with the lock held */
};

MUST_CHECK int notifier_init(struct notifier *notifier);

/* The thread has been stopped; frees notices that were not told. */
void notifier_deinit(struct notifier *notifier);

/* Starts the thread of a session. 0 or -errno. */
MUST_CHECK int notifier_start(struct session *session);

/* Ends the thread and gives all who wait for it ECANCELED; returns when it has ended. Requests must
 * still be answered meanwhile, or the file system be gone. Any thread but the session's own, more
 * than once. */
void notifier_stop(struct session *session);

/* Waits for the thread that notifier_start started, if it could, after notifier_stop. */
void notifier_join(struct notifier *notifier);

#endif
