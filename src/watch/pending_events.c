/* SPDX-License-Identifier: MIT */
#include "watch/pending_events.h"

void pending_events_overflow(struct pending_events *pending)
{
	if (pending->set.overflowed)
		return;
	event_set_reset(&pending->set);
	event_set_reset(&pending->inodes);
	pending->set.overflowed = pending->bit;
	pending->overflows++;
}

void pending_events_add(struct pending_events *pending, uint64_t dir, const char *name,
			uint32_t length, uint32_t events)
{
	if (!pending->set.overflowed && event_set_add(&pending->set, dir, name, length, events) < 0)
		pending_events_overflow(pending);
}

void pending_events_add_inode(struct pending_events *pending, uint64_t inode, uint32_t events)
{
	uint64_t number = (uint64_t)__builtin_ctzll(pending->bit);

	if (!pending->set.overflowed &&
	    event_set_add(&pending->inodes, number + 1, (const char *)&inode, sizeof(inode),
			  events) < 0)
		pending_events_overflow(pending);
}

int pending_events_take(struct pending_events *pending, struct event_set *set)
{
	int r;

	pending->set.has_moved_out = pending->moved_out > 0;
	pending->moved_out = 0;
	pending->written = false;
	r = event_set_merge(set, &pending->set);
	if (r == 0)
		return 0;
	pending_events_overflow(pending);
	pending->set.overflowed = 0;
	set->overflowed |= pending->bit;
	return r;
}
