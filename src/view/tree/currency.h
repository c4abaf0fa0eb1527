/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_CURRENCY_H
#define VIEW_TREE_CURRENCY_H

/* How current something is that follows events: the age of the oldest event that is not applied
 * yet, and the time of the last complete check. Any thread; no function blocks. */

#include <stdint.h>

struct currency {
	/* private, monotonic times: the first event since the last currency_take_events(), and the
	 * first event that was taken and is not applied; 0: none */
	_Atomic uint64_t arrived_ns, taken_ns;
	_Atomic int64_t checked_s; /* wall-clock time of the last complete check; 0: never */
};

/* Notes that an event arrived. */
void currency_note_event(struct currency *currency);

/* Must be called by the thread that applies events, before it takes them. */
void currency_take_events(struct currency *currency);

/* Notes that all events that were taken are applied. By the thread that applies events. */
void currency_note_applied(struct currency *currency);

/* Returns the age of the oldest event that is not applied, or 0. */
uint64_t currency_lag_ns(const struct currency *currency);

#endif
