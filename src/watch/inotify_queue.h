/* SPDX-License-Identifier: MIT */
#ifndef WATCH_INOTIFY_QUEUE_H
#define WATCH_INOTIFY_QUEUE_H

/* An inotify instance: one watch for each directory. A back end of queue.h. Not shared between
 * threads. The functions that add, renumber and remove work like those of watch.h. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "watch/dir_table.h"
#include "watch/pending_events.h"

/* Number of renames that are remembered until their second event is read. Events of other programs
 * can be between the two events of a rename. */
#define INOTIFY_COOKIES 64

struct inotify_queue {
	int fd; /* -1: not open */
	/* The kernel's numbers of watches count up, and repeat only after 2^31 watches. So a late
	 * event of an ended watch is not taken for an event of another watch. */
	struct dir_table directories;
	uint32_t cookies[INOTIFY_COOKIES]; /* cookies of the last names that were moved away */
	unsigned int next_cookie;
	bool rename_is_split; /* the last event was the first of the two of a rename */
};

/* Returns 0 or -errno. The caller must call inotify_queue_close() in either case. */
MUST_CHECK int inotify_queue_open(struct inotify_queue *queue);
void inotify_queue_close(struct inotify_queue *queue);

MUST_CHECK int inotify_queue_add(struct inotify_queue *queue, int fd, uint64_t dir,
				 uint64_t *known);
void inotify_queue_renumber(struct inotify_queue *queue, uint64_t from, uint64_t to);
void inotify_queue_remove(struct inotify_queue *queue, uint64_t dir);

/* Reads events once, into pending. Does not block.
 *
 * buffer	aligned for struct inotify_event
 *
 * Returns the number of bytes read; 0 if there were no events or the read failed. */
size_t inotify_queue_read(struct inotify_queue *queue, struct pending_events *pending, char *buffer,
			  size_t size);

/* Reads the events that are in the queue now; see queue_read_all(). */
void inotify_queue_read_all(struct inotify_queue *queue, struct pending_events *pending,
			    char *buffer, size_t size);

#endif
