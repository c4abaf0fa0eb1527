/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_WATCHER_THREAD_H
#define VIEW_FUSE_WATCHER_THREAD_H

/* The thread that raises inotify events for programs that watch folders of the view, as file
 * managers do, or single files (view/fuse/watched_files.h).
 *
 *	requests, notifier --possible changes--> watcher thread --lists--> view
 *	                                          | ^
 *	                                   events | | watched inodes
 *	                                          v |
 *	         kernel <--system calls-- mounter process (view/fuse/mounter.h)
 *	           |  |
 *	   inotify |  +--requests--> threads of the loop (view/fuse/watcher_event.h)
 *	           v
 *	        programs
 *
 * The kernel does not report watches to a file system, so the mounter process searches /proc. After
 * a request, the mounter searches the processes with recent requests, which can have added watches.
 * After a change, the mounter searches all processes. A pause follows each search: SEARCH_PAUSE
 * times its duration, from PAUSE_MIN_NS to PAUSE_MAX_NS. For each watched folder the thread stores
 * the names that its watchers know. It lists all folders that changed, and raises events for the
 * differences in the order that a native file system has.
 * If a pass removes one name of a node and adds one, both in uniques/, in redundant/, or in the
 * folder of a group, the events are those of a rename. In three cases the events are those of two
 * names: only one of the folders is watched, a name replaced another one, or the kernel refuses the
 * rename. In a chain of renames, each name but the last replaced another one.
 * A new folder in a watched one counts as watched for a while, as recursive watchers add a watch
 * after its event.
 *
 * Not used for shared views: a watcher must not learn of changes that are hidden from its user.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "view/fuse/fuse.h"
#include "view/fuse/mounter.h"
#include "view/fuse/watched_files.h"

struct session;

/* An invalidated name. The change of the name is reported if its folder turns out to be watched. */
struct recent_name {
	uint64_t folder;
	const char *text;
	bool directory;
	uint64_t number; /* greater than that of all earlier names */
};

/* All zero: empty. */
struct recent_names {
	struct recent_name *list;
	size_t count, capacity;
	struct arena memory; /* of the texts */
};

struct watcher_thread {
	pthread_mutex_t lock; /* protects all fields that are not atomic */
	pthread_cond_t changed; /* monotonic clock */
	bool running;
	bool search_needed; /* something changed since all processes were searched */
	bool pass_needed; /* something changed since the watched folders were updated */
	struct watched_folder *watched; /* uthash, by node; modified by the thread only */
	struct watched_files files; /* modified by the thread only, but for notes */
	struct recent_names recent; /* by number */
	uint64_t recent_number; /* number of the last recent name */
	uint64_t recent_lost; /* number of the last name that had no place in recent, or 0 */
	struct mounter_watchers requesters; /* threads with requests since the last search */
	pthread_t thread;

	_Atomic pid_t requester; /* last one of requesters, or -1 if there are too many */
	atomic_bool stopping; /* permanent; set with the lock held */
	pid_t process; /* process that raises events, or 0. Constant after the start */
};

void watcher_thread_init(struct watcher_thread *watcher);

/* Frees the resources. The thread must have been joined. */
void watcher_thread_deinit(struct watcher_thread *watcher);

/* Starts the thread of a session, unless the mount cannot have events. If the thread cannot be
 * started, this is logged, and the view works without the thread. */
void watcher_thread_start(struct session *session);

/* Stops the thread and waits for its end. Other threads must still answer requests meanwhile, or
 * the connection must be aborted. Any thread except the watcher thread and those that answer
 * requests. May be called several times. */
void watcher_thread_stop(struct watcher_thread *watcher);

/* Joins the thread, if watcher_thread_start started it. Call it after watcher_thread_stop. */
void watcher_thread_join(struct watcher_thread *watcher);

/* ---- for the notifier ---------------------------------------------------------------- */

/* Record changes. note_name: a name in a folder was created or removed, or refers to another node.
 * note_folder: a folder or something in it changed. note_file: a file changed or is gone. note_all:
 * any folder can have changed. A call of watcher_thread_wake must follow at the end of an
 * invalidation. */
void watcher_thread_note_name(struct watcher_thread *watcher, uint64_t folder, const char *name,
			      bool directory);
void watcher_thread_note_folder(struct watcher_thread *watcher, uint64_t folder);
void watcher_thread_note_file(struct watcher_thread *watcher, uint64_t node);
void watcher_thread_note_all(struct watcher_thread *watcher);
void watcher_thread_wake(struct watcher_thread *watcher);

/* ---- for threads of the loop --------------------------------------------------------- */

/* Records a thread that sent a request, as its process can have begun to watch folders. */
void watcher_thread_note_request(struct watcher_thread *watcher, pid_t requester);

/* Does this request come from the process that raises events? Other processes get EROFS for
 * changes. */
static inline bool watcher_thread_is_from_mounter(const struct watcher_thread *watcher,
						  fuse_req_t request)
{
	return watcher->process > 0 && fuse_req_ctx(request)->pid == watcher->process;
}

#endif
