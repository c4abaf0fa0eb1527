/* SPDX-License-Identifier: MIT */
#ifndef WATCH_QUEUE_H
#define WATCH_QUEUE_H

/* A queue of the kernel (an inotify instance), and its events that were read but not yet taken. Not
 * shared between threads: watch.c holds its lock around each call while the drain thread runs.
 * queue_add(), queue_renumber() and queue_remove() work like watch_add(), watch_renumber() and
 * watch_remove().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "watch/event_set.h"

/* Room for some thousand events. */
#define QUEUE_BUFFER_BYTES ((size_t)64 << 10)

/* Number of renames that are remembered until their second event is read. Events of other programs
 * can be between the two events of a rename. */
#define QUEUE_COOKIES 64

struct queue {
	int fd; /* -1: not open */
	uint64_t bit; /* bit in event_set.overflowed */
	struct queue_watch *by_number; /* watches by number of the kernel; uthash */
	struct queue_watch *by_dir; /* the same watches by number of the caller; uthash */
	uint32_t cookies[QUEUE_COOKIES]; /* cookies of the last names that were moved away */
	unsigned int next_cookie;
	/* number of renames since queue_take() whose second event, the new name, was not read */
	unsigned int moved_out;
	bool written; /* a file was written to, or its attributes changed, since queue_take() */
	bool rename_is_split; /* the last event was the first of the two of a rename */
	struct event_set pending; /* after an overflow, no names are added until queue_take() */
	uint64_t events; /* number since queue_open() */
	uint64_t overflows; /* number since queue_open() */
};

/* Opens queue number `number`. Returns 0 or -errno. The caller must call queue_close() in either
 * case. */
MUST_CHECK int queue_open(struct queue *queue, unsigned int number);
void queue_close(struct queue *queue);

MUST_CHECK int queue_add(struct queue *queue, int fd, uint64_t dir, uint64_t *known);
MUST_CHECK int queue_renumber(struct queue *queue, uint64_t from, uint64_t to);
void queue_remove(struct queue *queue, uint64_t dir);

size_t queue_directories(const struct queue *queue);

/* Reads events once, into pending. Does not block.
 *
 * buffer	QUEUE_BUFFER_BYTES, aligned for struct inotify_event; its contents are not used
 *		between calls
 *
 * Returns the number of bytes read; 0 if there were no events or the read failed. */
size_t queue_read(struct queue *queue, char *buffer);

/* Reads the events that are in the queue now. Events that are added meanwhile can stay in the
 * queue, so a program that writes without pause cannot block the caller for ever. */
void queue_read_all(struct queue *queue, char *buffer);

/* Moves pending events into set. Returns 0, or -ENOMEM: then the queue has overflowed. */
MUST_CHECK int queue_take(struct queue *queue, struct event_set *set);

/* Marks the queue as overflowed: discards pending names, and adds no names until queue_take(). */
void queue_overflow(struct queue *queue);

#endif
