/* SPDX-License-Identifier: MIT */
#include "daemon/follower_internal.h"

void follower_update_trust(struct follower *follower)
{
	size_t count = follower->ingest.sources->count;

	if (rename_trust_update(&follower->trust, &follower->dirty, !follower->purge))
		source_states_require_walk_all(follower->sources, count);
	if (source_states_need_walk(follower->sources, count))
		rename_trust_lower(&follower->trust.level, RENAME_NEEDS_WALK);
}

/* Returns whether no file without a name exists in a watched directory. If such a file exists, it
 * was renamed during each of its rechecks, so an event of its present name waits. */
static bool names_are_quiet(const struct follower *follower)
{
	return !event_set_has_names(&follower->dirty) &&
	       !source_states_need_walk(follower->sources, follower->ingest.sources->count);
}

int follower_purge_if_due(struct follower *follower)
{
	struct catalog *catalog = follower->ingest.catalog;
	bool purges = follower->purge_due && names_are_quiet(follower);
	int r = 0;

	if (follower->purge_due && !purges)
		r = ingest_has_many_orphans(catalog, &purges);
	if (r == 0 && purges)
		r = ingest_purge(catalog);
	if (r < 0 || !purges)
		return r;
	follower->purge = follower->purge_due = false;
	follower_update_trust(follower);
	return 0;
}
