/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_WATCHER_THREAD_H
#define MOUNT_WATCHER_THREAD_H

/* The thread that has programs which watch folders of the view with inotify, as file managers do,
 * hear of what comes, goes and changes in them.
 *
 *	requests, notifier --what may be new--> refresher --looks--> view
 *	                                          | ^
 *	                              what changed| |who watches
 *	                                          v |
 *	         kernel <--system calls-- process that mounts (mount/mounter.h)
 *	           |  |
 *	     events|  +--the same, as requests--> threads that answer (mount/watcher_reply.h)
 *	           v
 *	        programs
 *
 * Which folders are watched the kernel tells nobody. The other process looks it up in /proc: of
 * those who asked something, as they may be about to watch; and of all when something changed,
 * as often as that takes no more than one part in LOOKS_SHARE of the time, or after PAUSE_MAX_NS.
 * Of each folder that is watched the thread remembers the names that its watchers know, and tells
 * what is different later, EVENTS_MAX at a time.
 *
 * Not for views that are shared: who watches a folder may not know all that others do.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/attributes.h"
#include "mount/fuse.h"
#include "mount/mounter.h"

struct session;

/* A name that the notifier told the kernel of: of a folder that turns out to be watched. */
struct recent_name {
	uint64_t folder;
	const char *text;
	uint64_t number; /* greater than those of all before it */
};

#define RECENT_NAMES_MAX 4096

struct watcher_thread {
	pthread_mutex_t lock; /* of all below that is not atomic */
	pthread_cond_t changed; /* on the monotonic clock */
	bool running;
	bool told; /* something changed since the thread looked at all processes, */
	bool changes; /* and since it looked at what it knows to be watched */
	struct watched_folder *watched; /* uthash, by inode; changed by the thread alone */
	struct recent_name recent[RECENT_NAMES_MAX];
	size_t recent_count;
	uint64_t recent_number; /* of the last one that was noted */
	struct arena recent_memory;
	struct mounter_watchers requesters; /* who asked since the thread last looked */
	pthread_t thread;

	_Atomic pid_t requester; /* the last one of them; -1: there are too many to note them */
	atomic_bool stopping; /* for good. Set with the lock held */
	pid_t process; /* which makes changes; 0: none does. Constant since the start */
};

MUST_CHECK int watcher_thread_init(struct watcher_thread *watcher);

/* The thread has been joined, if there was one. */
void watcher_thread_deinit(struct watcher_thread *watcher);

/* Starts the thread of a session, where that can do anything. That it cannot be had is logged, and
 * is no failure of the view. */
void watcher_thread_start(struct session *session);

/* Ends the thread and returns when it does nothing any more. Requests must still be answered
 * meanwhile, or the file system be gone. Any thread but the session's own, more than once. */
void watcher_thread_stop(struct watcher_thread *watcher);

/* Waits for the thread that watcher_thread_start started, after watcher_thread_stop. */
void watcher_thread_join(struct watcher_thread *watcher);

/* ---- for the notifier ---------------------------------------------------------------- */

/* A name in a folder came, went or is of another node; something in a folder, or it itself,
 * changed; in any. After all of them of a notice: told. */
void watcher_thread_note_name(struct watcher_thread *watcher, uint64_t folder, const char *name);
void watcher_thread_note_folder(struct watcher_thread *watcher, uint64_t folder);
void watcher_thread_note_all(struct watcher_thread *watcher);
void watcher_thread_wake(struct watcher_thread *watcher);

/* ---- for threads that answer --------------------------------------------------------- */

/* A thread asks something, and its process may watch. */
void watcher_thread_note_request(struct watcher_thread *watcher, pid_t requester);

/* Does this request come from the process that makes changes? Others get EROFS for all that would
 * change something. */
static inline bool watcher_thread_is_requester(const struct watcher_thread *watcher,
					       fuse_req_t request)
{
	return watcher->process > 0 && fuse_req_ctx(request)->pid == watcher->process;
}

#endif
