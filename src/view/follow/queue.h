/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_QUEUE_H
#define VIEW_FOLLOW_QUEUE_H

/* A queue of the kernel, and its events that were read but not yet taken. Not shared between
 * threads: watch.c holds its lock around each call while the drain thread runs. queue_add(),
 * queue_renumber(), queue_remove(), queue_has() and queue_note_unmounted() work like watch_add()
 * and so on. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "view/follow/dir_table.h"
#include "view/follow/event_set.h"
#include "view/follow/fanotify_group.h"

/* Room for some thousand events. */
#define QUEUE_BUFFER_BYTES ((size_t)64 << 10)

/* Number of renames that are remembered until their second event is read. Events of other programs
 * can be between the two events of a rename. */
#define INOTIFY_COOKIES 64

/* An inotify instance: one watch for each directory. */
struct inotify_queue {
	int fd; /* -1: not open */
	struct pending_events *pending; /* borrowed; receives the events */
	/* The kernel's numbers of watches count up, and repeat only after 2^31 watches. So a late
	 * event of an ended watch is not taken for an event of another watch. */
	struct dir_table directories;
	uint32_t cookies[INOTIFY_COOKIES]; /* cookies of the last names that were moved away */
	unsigned int next_cookie;
	bool rename_is_split; /* the last event was the first of the two of a rename */
};

/* A fanotify group with a mark on a whole file system, and the directories whose events count.
 *
 * The kernel reports changes of all directories of the file system. Of the directories that were
 * not added, only changes of files count, which possibly are hard links (watch_take_inodes()). The
 * mark exists before any directory is added, so no event is missing after the addition. Events from
 * before the addition do not count, as with inotify: the addition first reads the queue. */
struct fanotify_queue {
	struct fanotify_group group; /* not open: the queue is not used */
	struct pending_events *pending; /* borrowed; receives the events */
	uint64_t seed; /* of dir_key_of() */
	struct dir_table directories;
	/* directories that were removed since the last fanotify_queue_forget_ended() */
	struct dir_table ended;
};

struct queue {
	struct inotify_queue inotify; /* open unless fanotify is */
	struct fanotify_queue fanotify;
	/* If inotify has too few watches, this group replaces it. Not open: no group does. */
	struct fanotify_group reserve;
	struct pending_events pending;
};

struct queue_settings {
	unsigned int number; /* of the queue */
	struct fanotify_group *group; /* taken if it is open; NULL: none */
	bool prefers_fanotify; /* use the group from the start */
};

/* Opens a queue. If no inotify instance can be created, uses the group. Returns 0 or -errno. The
 * caller must call queue_close() in either case. */
MUST_CHECK int queue_open(struct queue *queue, const struct queue_settings *settings);
void queue_close(struct queue *queue);

/* Returns whether the queue uses fanotify. */
bool queue_uses_fanotify(const struct queue *queue);

/* Returns whether changes by links outside of the watched directories are reported. */
bool queue_reports_links(const struct queue *queue);

/* Closes the reserve if the queue does not use it. */
void queue_close_reserve(struct queue *queue);

/* Adds a directory. The buffer is the one of queue_read(). If the user has reached the limit of
 * watches, the reserve replaces inotify. The queue then has overflowed, because directories that
 * were added before have to be added again. */
MUST_CHECK int queue_add(struct queue *queue, int fd, uint64_t dir, uint64_t *known, char *buffer);
void queue_renumber(struct queue *queue, uint64_t from, uint64_t to);
void queue_remove(struct queue *queue, uint64_t dir);
bool queue_has(struct queue *queue, uint64_t dir);
void queue_note_unmounted(struct queue *queue);

size_t queue_directories(const struct queue *queue);

/* Returns the descriptor that becomes readable when the queue has events. */
int queue_descriptor(const struct queue *queue);

/* Returns whether the last event that was read was the first of the two of a rename.
 * queue_end_split() forgets that event. */
bool queue_is_split(const struct queue *queue);
void queue_end_split(struct queue *queue);

/* Reads events once, into pending. Does not block.
 *
 * buffer	QUEUE_BUFFER_BYTES, aligned for any event; its contents are not used between calls
 *
 * Returns the number of bytes read; 0 if there were no events or the read failed. */
size_t queue_read(struct queue *queue, char *buffer);

/* Reads the events that are in the queue now. Events that are added meanwhile can stay in the
 * queue, so a program that writes without pause cannot block the caller for ever. */
void queue_read_all(struct queue *queue, char *buffer);

/* Moves pending events into set. The caller must first call queue_read_all(). Returns 0, or
 * -ENOMEM: then the queue has overflowed. */
MUST_CHECK int queue_take(struct queue *queue, struct event_set *set);

#endif
