/* SPDX-License-Identifier: MIT */
#include "scan/name_event.h"

#include <stddef.h>

#include "base/attributes.h"

static const struct {
	uint32_t event;
	uint32_t effects;
} table[] = {
	{EVENT_NAME, 0},
	{EVENT_WRITTEN, EFFECT_HIDES | EFFECT_NEW_BYTES | EFFECT_CHANGES_FILE | EFFECT_MAY_BE_LINK},
	{EVENT_CLOSED, 0},
	{EVENT_ATTRIBUTES, EFFECT_NEW_BYTES | EFFECT_CHANGES_FILE | EFFECT_MAY_BE_LINK},
	{EVENT_MOVED_IN, EFFECT_HIDES | EFFECT_NEW_BYTES | EFFECT_ARRIVES | EFFECT_MAY_BE_LINK},
	{EVENT_MOVED_HERE, EFFECT_ARRIVES | EFFECT_MAY_BE_LINK},
	{EVENT_CREATED, EFFECT_HIDES | EFFECT_ARRIVES | EFFECT_MAY_BE_LINK},
	{EVENT_REMOVED, EFFECT_CHANGES_FILE},
	{EVENT_REPLACED, EFFECT_MAY_BE_LINK | EFFECT_UNTRUSTS},
	{EVENT_NEW_DIR, EFFECT_UNTRUSTS},
	{EVENT_LISTING, 0},
	{EVENT_TREE, 0},
	/* both events: the written file possibly had another name meanwhile */
	{EVENT_NAME | EVENT_WRITTEN, EFFECT_UNTRUSTS},
	{EVENT_NAME | EVENT_ATTRIBUTES, EFFECT_UNTRUSTS},
};

uint32_t name_event_effects(uint32_t events)
{
	uint32_t effects = 0;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if ((events & table[i].event) == table[i].event)
			effects |= table[i].effects;
	}
	return effects;
}

bool name_events_may_hide_link(uint32_t events, enum rename_trust trust, bool known, bool exists)
{
	/* a trusted rename is found at the name that it has now */
	bool arrived = trust == RENAME_TRUSTED ? events & EVENT_CREATED : events & EVENTS_ARRIVED;
	bool touched = !known && name_event_effects(events) & EFFECT_CHANGES_FILE;

	return events & EVENT_REPLACED || (!exists && (arrived || touched));
}
