/* SPDX-License-Identifier: MIT */
#ifndef WATCH_PENDING_EVENTS_H
#define WATCH_PENDING_EVENTS_H

/* Events that were read from a queue of the kernel but not yet taken (watch_take()). Pure code, not
 * shared between threads. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "watch/event_set.h"

/* The fields that are not set to another value must be zero before the first use. */
struct pending_events {
	struct event_set set; /* after an overflow, no names are added until the next take */
	/* Changes of files by names outside of the watched directories. Each entry has the number
	 * of the queue plus 1 as its directory, and an inode number of 8 bytes as its name. */
	struct event_set inodes;
	uint64_t bit; /* the bit of the queue in event_set.overflowed */
	/* number of renames since the last take that moved a name out of the watched directories */
	unsigned int moved_out;
	bool written; /* a file was written to, or its attributes changed, since the last take */
	uint64_t events; /* number of all events */
	uint64_t overflows; /* number of all overflows */
};

/* Adds events of a name. For the directory itself, name is NULL and length is 0. If memory is
 * short, the queue has overflowed. */
void pending_events_add(struct pending_events *pending, uint64_t dir, const char *name,
			uint32_t length, uint32_t events);

/* Adds events of a file that was changed by a name outside of the watched directories. */
void pending_events_add_inode(struct pending_events *pending, uint64_t inode, uint32_t events);

/* Returns the approximate memory of the events. */
static inline size_t pending_events_bytes(const struct pending_events *pending)
{
	return pending->set.bytes + pending->inodes.bytes;
}

/* Marks the queue as overflowed: discards all names, and adds no names until the next take. */
void pending_events_overflow(struct pending_events *pending);

/* Moves the events into set. Returns 0, or -ENOMEM: then the queue has overflowed. */
MUST_CHECK int pending_events_take(struct pending_events *pending, struct event_set *set);

#endif
