/* SPDX-License-Identifier: MIT */
#ifndef WATCH_EVENT_SET_H
#define WATCH_EVENT_SET_H

/* Names that have to be rechecked, each once with all its events (base/name_event.h). Pure code, not
 * shared between threads. A struct event_set that is all zero is empty and valid.
 *
 * The set keeps the order of events only in EVENT_CLOSED and EVENT_REPLACED: a recheck finds what
 * exists now, and a later change brings another event.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/name_event.h"

struct event_set {
	struct event_set_entry *table; /* uthash */
	size_t count;
	size_t bytes; /* approximate memory of the entries */
	uint64_t
		overflowed; /* bit n: queue n lost events, so its whole source has to be rechecked */
	bool strayed; /* a name arrived or was written to in a directory that has no number any more */
	bool left; /* a rename took a name to a directory without a watch in its queue */
};

/* Adds events to those of a name, as later ones. EVENT_WRITTEN without EVENT_CLOSED takes back an
 * earlier EVENT_CLOSED; a name that arrives a second time gets EVENT_REPLACED. name NULL, length 0:
 * the directory itself. Returns 0 or -ENOMEM. */
MUST_CHECK int event_set_add(struct event_set *set, uint64_t dir, const char *name, uint32_t length,
			     uint32_t events);

/* Adds a name with the events that it had, because its recheck has to be repeated. Returns 0 or
 * -ENOMEM. */
MUST_CHECK int event_set_add_again(struct event_set *set, const struct name_events *name);

/* Moves everything of later into set, as later events; later is empty then. Returns 0, or -ENOMEM if
 * a part was moved, one name was lost and the rest is still in later. */
MUST_CHECK int event_set_merge(struct event_set *set, struct event_set *later);

/* Adds EVENT_REPLACED to names that arrived in both sets: the earlier one was replaced. */
void event_set_note_replaced(struct event_set *set, const struct event_set *earlier);

/* Lists all entries, sorted by directory, then the directory itself, then by name.
 *
 * list	receives an array of *count pointers, which the caller frees with free(3); the entries are
 *	valid until event_set_reset()
 *
 * Returns 0 or -ENOMEM. */
MUST_CHECK int event_set_list(const struct event_set *set, const struct name_events ***list,
			      size_t *count);

/* Forgets everything. */
void event_set_reset(struct event_set *set);

#endif
