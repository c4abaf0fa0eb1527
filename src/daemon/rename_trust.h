/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_RENAME_TRUST_H
#define DAEMON_RENAME_TRUST_H

/* Trust in renames across rounds of rechecks (enum rename_trust, watch/name_event.h).
 *
 * Renames become untrusted if a write was possibly reported under a name that no recheck covers.
 * Renames become trusted again when all names are rechecked and no new event has arrived. One
 * thread. */

#include <stdbool.h>

#include "watch/event_set.h"
#include "watch/name_event.h"

/* Must be all zero before the first use. */
struct rename_trust_state {
	enum rename_trust level;
	struct event_set earlier; /* events of the last round of rechecks */
};

/* Sets the level for the events of the next round. Adds EVENT_REPLACED to names that had an event
 * in the last round as well.
 *
 * purged	the index has no file without a name, so no rename can give such a file a name
 *
 * Returns whether events were lost, so that any file was possibly written to. */
bool rename_trust_update(struct rename_trust_state *state, struct event_set *events, bool purged);

/* Lowers the trust to this level, unless it is lower already. */
static inline void rename_trust_lower(enum rename_trust *trust, enum rename_trust level)
{
	if (*trust < level)
		*trust = level;
}

/* Moves the events of a finished round into state, for the next rename_trust_update(). */
void rename_trust_finish_round(struct rename_trust_state *state, struct event_set *events);

void rename_trust_free(struct rename_trust_state *state);

#endif
