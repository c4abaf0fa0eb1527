/* SPDX-License-Identifier: MIT */

/* Names that were possibly moved past the walks of sources without events. */
#include <stdatomic.h>

#include "base/clock.h"
#include "daemon/follower_internal.h"
#include "source/source.h"

/* Returns the source with this root, or NULL if there is none or events report all its changes. */
static struct source *find_walked(const struct follower *follower, uint64_t root)
{
	const struct sources *sources = follower->ingest.sources;

	for (size_t i = 0; i < sources->count; i++) {
		if (sources->list[i].root == root)
			return source_state_is_walked(&follower->sources[i]) ? &sources->list[i]
									     : NULL;
	}
	return NULL;
}

int follower_walk_trees(struct follower *follower, const struct recheck_plan *plan)
{
	const struct sources *sources = follower->ingest.sources;
	bool moved = false;
	int r = 0;

	follower->ingest.moves_since_ns = clock_file_ns();
	for (size_t i = 0; r == 0 && i < plan->tree_count; i++) {
		bool lost = atomic_load(&follower->lost_names);
		struct source *source;

		r = ingest_recheck(&follower->ingest, &plan->list[i], 1);
		/* the walk counts the directories without a watch */
		source = find_walked(follower, plan->list[i].dir);
		if (!source || r < 0)
			continue;
		/* elsewhere, times of folders prove less: servers have clocks of their own */
		if (!follower->ingest.result.of_other_host)
			atomic_store(&follower->lost_names, lost);
		moved |= follower->ingest.result.moved;
		if (!moved)
			atomic_store(&source->moved, false);
		if (follower->moved_ns < follower->ingest.result.moved_ns)
			follower->moved_ns = follower->ingest.result.moved_ns;
	}
	follower->ingest.moves_since_ns = 0;
	if (moved)
		source_states_note_moved(follower->sources, sources);
	return r;
}

void follower_note_lost(struct follower *follower)
{
	if (atomic_exchange(&follower->lost_names, false))
		source_states_note_moved(follower->sources, follower->ingest.sources);
}
