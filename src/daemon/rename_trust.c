/* SPDX-License-Identifier: MIT */
#include "daemon/rename_trust.h"

bool rename_trust_update(struct rename_trust_state *state, struct event_set *events, bool purged)
{
	bool lost = events->overflowed || events->has_unknown_dir;

	events->has_unknown_dir = false;
	event_set_note_replaced(events, &state->earlier);
	event_set_reset(&state->earlier);
	if (events->count == 0 && purged)
		state->level = RENAME_TRUSTED;
	if (lost)
		rename_trust_lower(&state->level, RENAME_NEEDS_WALK);
	return lost;
}

void rename_trust_finish_round(struct rename_trust_state *state, struct event_set *events)
{
	event_set_reset(&state->earlier);
	state->earlier = *events;
	*events = (struct event_set){0};
}

void rename_trust_free(struct rename_trust_state *state)
{
	event_set_reset(&state->earlier);
}
