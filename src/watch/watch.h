/* SPDX-License-Identifier: MIT */
#ifndef WATCH_WATCH_H
#define WATCH_WATCH_H

/* Kernel events: which names of which directories to look at again.
 *
 *   kernel queues --drain thread--> names in memory --watch_take--> struct event_set
 *
 * A directory is known by a number that the caller gives (above 0, not two at a time in a queue),
 * never by a path. There is a queue for each source, so that one that overflows costs only that
 * source a walk. Any thread may call anything.
 *
 * A queue overflows when the kernel's own limit is reached (fs.inotify.max_queued_events), when
 * memory runs out, or when it holds the most while all of them hold more than WATCH_PENDING_MAX.
 * What it held is forgotten, and what happens until the next watch_take too.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "watch/event_set.h"

/* Bytes of names that wait to be taken, about: some hundred thousand. */
#define WATCH_PENDING_MAX ((size_t)64 << 20)

/* Lost events are told in a mask, a bit for each queue. */
#define WATCH_QUEUES_MAX 64

struct watch;

/* Outcomes of watch_add that the caller must handle; failures are -errno. */
enum watch_outcome {
	WATCH_ADDED = 0, /* or it was watched already under this number */
	WATCH_KNOWN = 1, /* this very directory is watched under another number; nothing changed */
	WATCH_FULL = 2, /* this user may have no more watches */
};

/* Starts the drain thread, which signals leave alone.
 *
 * queues	how many, 1 to WATCH_QUEUES_MAX (each is one of fs.inotify.max_user_instances)
 * wake		called from the drain thread when there is something to take and there was nothing
 *		before; it must not block and not call back
 *
 * 0 or -errno (-EMFILE: too many inotify instances of this user). */
MUST_CHECK int watch_new(struct watch **watch, unsigned int queues, void (*wake)(void *context),
			 void *context);
void watch_free(struct watch *watch); /* accepts NULL */

/* Watches the open directory fd (O_PATH will do) from now on, as number dir. If another directory
 * was watched under this number, that ends. Needs /proc and leave to read the directory.
 *
 * known	with WATCH_KNOWN its number, else untouched
 *
 * WATCH_ADDED, WATCH_KNOWN, WATCH_FULL or -errno: -ENOTDIR, -EACCES, -ENOMEM... */
MUST_CHECK int watch_add(struct watch *watch, unsigned int queue, int fd, uint64_t dir,
			 uint64_t *known);

/* Gives what is watched as number from the number to; nothing where from is not watched. Events
 * that were queued under the old number may still come. If another directory was watched as
 * number to, that ends. 0 or -ENOMEM (then it is watched no more). */
MUST_CHECK int watch_renumber(struct watch *watch, unsigned int queue, uint64_t from, uint64_t to);

/* Ends the watch on a directory; nothing where it is not watched. Events that are still in the
 * kernel's queue are lost. A directory that was deleted needs no call. */
void watch_remove(struct watch *watch, unsigned int queue, uint64_t dir);

/* Moves everything that happened before this call into dirty: reads all that the kernel's queues
 * hold, so this is a barrier (an event is queued before the system call that caused it returns).
 * 0 or -ENOMEM (then nothing is lost: queues are marked overflowed). */
MUST_CHECK int watch_take(struct watch *watch, struct event_set *set);

/* Has anything been written to, or had its attributes changed, between the last watch_take and this
 * call? Also where that is not known. */
bool watch_has_written(struct watch *watch);

struct watch_figures {
	uint64_t directories; /* watched now */
	uint64_t events; /* since watch_new */
	uint64_t overflows; /* how often a queue overflowed since watch_new */
};
void watch_figures(struct watch *watch, struct watch_figures *figures);

#endif
