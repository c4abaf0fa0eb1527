/* SPDX-License-Identifier: MIT */
#ifndef WATCH_QUEUE_H
#define WATCH_QUEUE_H

/* One of the kernel's event queues, and what was read from it and not taken yet. Not shared between
 * threads: watch.c holds its lock around each call. Functions say what watch.h says of theirs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "watch/event_set.h"

/* Some thousand events. */
#define QUEUE_BUFFER_BYTES ((size_t)64 << 10)

/* The two events of a rename follow each other, but for those of others at the same time. */
#define QUEUE_COOKIES 64

struct queue {
	int fd; /* -1: not open */
	uint64_t bit; /* of dirty.overflowed */
	struct queue_watch *by_number; /* uthash: the same ones, by the kernel's number */
	struct queue_watch *by_dir; /* and by the caller's */
	uint32_t left[QUEUE_COOKIES]; /* cookies of the last names that were moved away */
	unsigned int moved_next;
	unsigned int away; /* names that went by a rename and came nowhere, since it was taken */
	bool written; /* something was, or its attributes changed, since it was taken */
	bool half; /* the last event told that a name left by a rename: where it went follows */
	struct event_set pending; /* when it overflowed: nothing but that bit, until it is taken */
	uint64_t events;
	uint64_t overflows;
};

/* 0 or -errno; queue is to be closed in either case. */
MUST_CHECK int queue_open(struct queue *queue, unsigned int number);
void queue_close(struct queue *queue);

MUST_CHECK int queue_add(struct queue *queue, int fd, uint64_t dir, uint64_t *known);
MUST_CHECK int queue_renumber(struct queue *queue, uint64_t from, uint64_t to);
void queue_remove(struct queue *queue, uint64_t dir);

size_t queue_directories(const struct queue *queue);

/* Reads once, into pending. Does not block.
 *
 * buffer	QUEUE_BUFFER_BYTES, aligned for struct inotify_event; holds nothing between calls
 *
 * How many bytes came; 0: there was nothing. */
size_t queue_read(struct queue *queue, char *buffer);

/* Reads what is in the queue now: what is added meanwhile may stay, or somebody who writes without
 * end would keep the caller for ever. */
void queue_read_all(struct queue *queue, char *buffer);

/* Moves what is pending into dirty. 0 or -ENOMEM: then the queue has overflowed. */
MUST_CHECK int queue_take(struct queue *queue, struct event_set *set);

/* Forgets what is pending; nothing becomes pending until it was taken. */
void queue_overflow(struct queue *queue);

#endif
