/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_WATCH_H
#define VIEW_FOLLOW_WATCH_H

/* Names that must be rechecked, from events of inotify or fanotify.
 *
 *	kernel queues --drain thread--> names in memory --watch_take--> struct event_set
 *
 * A directory is identified by a number that the caller assigns, above 0 and unique in its queue,
 * never by a path. Each source has a queue, so an overflow requires a walk of only that source. Any
 * thread may call any function.
 *
 * A queue overflows if the limit of the kernel is reached (fs.inotify.max_queued_events or
 * fs.fanotify.max_queued_events), or if memory is short. If the names of all queues together take
 * more than WATCH_PENDING_MAX, the queue with most of them overflows. The pending events of an
 * overflowed queue are discarded, and so are its later events until the next watch_take().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "view/follow/event_set.h"
#include "view/follow/fanotify_group.h"

/* Approximate bytes of names that can be pending: some hundred thousand names. */
#define WATCH_PENDING_MAX ((size_t)64 << 20)

/* Maximum number of queues: event_set.overflowed has one bit for each. */
#define WATCH_QUEUES_MAX 64

struct watch;

/* Outcomes of watch_add that the caller must handle; failures are -errno. */
enum watch_outcome {
	WATCH_ADDED = 0, /* also if the directory was watched under this number before */
	WATCH_KNOWN = 1, /* this directory is watched under another number; nothing changed */
	/* The user has reached the limit of watches. With fanotify: the group does not report on
	 * the directory's file system, or the directory's handle cannot be read. */
	WATCH_FULL = 2,
};

struct watch_settings {
	/* number of queues, 1 to WATCH_QUEUES_MAX (each is one of fs.inotify.max_user_instances) */
	unsigned int queues;
	/* Fanotify groups, one for each queue, or NULL. watch_new() takes those that are open, and
	 * sets their fd to -1. A queue uses its group if there is no inotify instance for it, or
	 * as soon as the user has reached the limit of watches. */
	struct fanotify_group *groups;
	bool prefers_fanotify; /* queues with a group use it from the start */
	/* Called when the first event becomes pending after a watch_take(), from the drain thread,
	 * watch_add() or watch_has_written(). It must not block or call functions of watch.h. */
	void (*wake)(void *context);
	void *context;
};

/* Starts the drain thread, which blocks signals. Returns 0 or -errno; -EMFILE if the user has too
 * many inotify instances. */
MUST_CHECK int watch_new(struct watch **watch, const struct watch_settings *settings);

/* Ends the thread and all watches; accepts NULL. */
void watch_free(struct watch *watch);

/* Starts to watch the open directory fd, which may be O_PATH, as number dir. If another directory
 * was watched under this number, that watch ends. Needs /proc and permission to read the directory.
 *
 * known	set to the number of the existing watch if the result is WATCH_KNOWN
 *
 * Returns WATCH_ADDED, WATCH_KNOWN, WATCH_FULL or -errno: -ENOTDIR, -EACCES, -ENOMEM... */
MUST_CHECK int watch_add(struct watch *watch, unsigned int queue, int fd, uint64_t dir,
			 uint64_t *known);

/* Changes the number of a watched directory; does nothing if `from` is not watched. Events that
 * were queued under the old number can still arrive. If another directory was watched as `to`, that
 * watch ends. */
void watch_renumber(struct watch *watch, unsigned int queue, uint64_t from, uint64_t to);

/* Ends the watch on a directory; does nothing if it is not watched. Its events that are still in
 * the queue of the kernel only set has_unknown_dir. A deleted directory needs no call. */
void watch_remove(struct watch *watch, unsigned int queue, uint64_t dir);

/* Returns whether a directory is watched under this number. */
bool watch_has(struct watch *watch, unsigned int queue, uint64_t dir);

/* Prepares a queue for a file system that was unmounted and can be mounted again, possibly in
 * another place: a queue with fanotify uses inotify from now on, because the mark ended with the
 * file system and a new one needs a right that the daemon gave up. If no inotify instance can be
 * created, directories added later are WATCH_FULL. */
void watch_note_unmounted(struct watch *watch, unsigned int queue);

/* Moves all events before this call into set. The call is a barrier: it reads the queues of the
 * kernel, and the kernel queues an event before the system call that caused the event returns. If
 * the second event of a rename is missing, waits up to 20 ms for it. Returns 0, or -ENOMEM with the
 * affected queues marked as overflowed in set. */
MUST_CHECK int watch_take(struct watch *watch, struct event_set *set);

/* Moves the changes of files by names outside of the watched directories into inodes: all from
 * before the last watch_take(), and possibly later ones. Only fanotify reports them. An entry has
 * the number of the queue plus 1 as its directory, and an inode number of 8 bytes as its name. The
 * file is on the file system of the source, and possibly has no name in a watched directory.
 * Returns 0 or -ENOMEM. */
MUST_CHECK int watch_take_inodes(struct watch *watch, struct event_set *inodes);

/* Returns whether watch_take_inodes() gets all changes on the file system of a queue, except those
 * in watched directories. */
bool watch_reports_links(struct watch *watch, unsigned int queue);

/* Returns whether a file was possibly written to, or its attributes changed, between the last
 * watch_take() and this call. Returns true if events were lost. */
bool watch_has_written(struct watch *watch);

/* Returns whether a name was possibly removed, or renamed, between the last watch_take() and this
 * call. Returns true if events were lost. */
bool watch_has_removed(struct watch *watch);

/* Closes the groups of queues that do not use them. */
void watch_close_reserve(struct watch *watch);

struct watch_figures {
	unsigned int queues;
	unsigned int fanotify_queues; /* queues that use fanotify */
	uint64_t directories; /* directories watched now */
	uint64_t events; /* events since watch_new() */
	uint64_t overflows; /* overflows of queues since watch_new() */
};
void watch_figures(struct watch *watch, struct watch_figures *figures);

#endif
