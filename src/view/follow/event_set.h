/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_EVENT_SET_H
#define VIEW_FOLLOW_EVENT_SET_H

/* Names that must be rechecked, each once with all its events (scan/ingest.h). Pure code, not
 * shared between threads. A struct event_set of zeros is valid and empty.
 *
 * A recheck finds the current state, and a later change causes another event. The set therefore
 * does not preserve the order of events, except by EVENT_CLOSED and EVENT_REPLACED.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "scan/ingest.h"

struct event_set {
	struct event_set_entry *table; /* uthash */
	size_t count;
	size_t bytes; /* approximate memory of the entries */
	uint64_t overflowed; /* if bit n is set, queue n lost events: its source must be walked */
	bool has_unknown_dir; /* a name arrived or was written to where a watch has ended */
	bool has_moved_out; /* a rename moved a name out of the watched directories of a queue */
};

/* Adds later events to a name. EVENT_WRITTEN without EVENT_CLOSED clears an earlier EVENT_CLOSED. A
 * name that arrived before gets EVENT_REPLACED if it now arrives again or is removed. For the
 * directory itself, name is NULL and length is 0. Returns 0 or -ENOMEM. */
MUST_CHECK int event_set_add(struct event_set *set, uint64_t dir, const char *name, uint32_t length,
			     uint32_t events);

/* Adds a name again with its earlier events, because its recheck must be repeated. Returns 0 or
 * -ENOMEM. */
MUST_CHECK int event_set_add_again(struct event_set *set, const struct name_events *name);

/* Moves all events of later into set, as later events. Returns 0 with later empty, or -ENOMEM if
 * only a part was moved: one name is lost and the rest is still in later. */
MUST_CHECK int event_set_merge(struct event_set *set, struct event_set *later);

/* Adds EVENT_REPLACED to each name of set that arrived in both sets. A name that
 * event_set_add_again() added to set arrived once, in the earlier set. */
void event_set_note_replaced(struct event_set *set, const struct event_set *earlier);

/* Returns whether the set has an entry of the directory itself. */
bool event_set_has_dir(const struct event_set *set, uint64_t dir);

/* Returns whether an event can concern which names exist, and not only the content or attributes of
 * files. */
bool event_set_has_names(const struct event_set *set);

/* Lists all entries by directory. In each directory, the entry of the directory itself is first;
 * the entries of names follow, sorted by name.
 *
 * list	set to an array of *count pointers, which the caller frees with free(3); the entries are
 *	valid until event_set_reset()
 *
 * Returns 0 or -ENOMEM. */
MUST_CHECK int event_set_list(const struct event_set *set, const struct name_events ***list,
			      size_t *count);

/* Frees all entries. */
void event_set_reset(struct event_set *set);

/* ---- pending events -------------------------------------------------------------------------- */

/* Events that were read from a queue of the kernel but not yet taken (watch_take()). The fields
 * that are not set to another value must be zero before the first use. */
struct pending_events {
	struct event_set set; /* after an overflow, no names are added until the next take */
	/* Changes of files by names outside of the watched directories. Each entry has the number
	 * of the queue plus 1 as its directory, and an inode number of 8 bytes as its name. */
	struct event_set inodes;
	uint64_t bit; /* the bit of the queue in event_set.overflowed */
	/* number of renames since the last take that moved a name out of the watched directories */
	unsigned int moved_out;
	bool written; /* a file was written to, or its attributes changed, since the last take */
	bool removed; /* a name was removed, renamed or replaced since the last take */
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
