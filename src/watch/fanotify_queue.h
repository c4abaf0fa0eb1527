/* SPDX-License-Identifier: MIT */
#ifndef WATCH_FANOTIFY_QUEUE_H
#define WATCH_FANOTIFY_QUEUE_H

/* A fanotify group with a mark on a whole file system, and the directories whose events count. A
 * back end of queue.h. Not shared between threads. The functions that add, renumber and remove work
 * like those of watch.h.
 *
 * The kernel reports changes of all directories of the file system. Of the directories that were
 * not added, only changes of files count, which possibly are hard links (watch_take_inodes()). The
 * mark exists before any directory is added, so no event is missing after the addition. Events from
 * before the addition do not count, as with inotify: the addition first reads the queue. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "watch/dir_table.h"
#include "watch/fanotify_group.h"
#include "watch/pending_events.h"

struct fanotify_queue {
	struct fanotify_group group; /* not open: the queue is not used */
	struct pending_events *pending; /* borrowed; receives the events */
	uint64_t seed; /* of dir_key_of() */
	struct dir_table directories;
	/* directories that were removed since the last fanotify_queue_forget_ended() */
	struct dir_table ended;
};

/* Takes the open group. */
void fanotify_queue_open(struct fanotify_queue *queue, struct fanotify_group *group,
			 struct pending_events *pending);
void fanotify_queue_close(struct fanotify_queue *queue);

/* A buffer for events. */
struct fanotify_buffer {
	char *bytes;
	size_t size;
};

/* Also returns WATCH_FULL if the directory is on another file system, or if its handle cannot be
 * read. */
MUST_CHECK int fanotify_queue_add(struct fanotify_queue *queue, int fd, uint64_t dir,
				  uint64_t *known, struct fanotify_buffer buffer);
void fanotify_queue_renumber(struct fanotify_queue *queue, uint64_t from, uint64_t to);
void fanotify_queue_remove(struct fanotify_queue *queue, uint64_t dir);

/* Forgets removed directories, whose events set has_unknown_dir until then. The caller must first
 * read all events. */
void fanotify_queue_forget_ended(struct fanotify_queue *queue);

/* Read events like inotify_queue_read() and inotify_queue_read_all(). */
size_t fanotify_queue_read(struct fanotify_queue *queue, struct fanotify_buffer buffer);
void fanotify_queue_read_all(struct fanotify_queue *queue, struct fanotify_buffer buffer);

#endif
