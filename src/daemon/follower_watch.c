/* SPDX-License-Identifier: MIT */
#include "base/inotify_use.h"
#include "base/log.h"
#include "catalog/query.h"
#include "daemon/fanotify_groups.h"
#include "daemon/follower_internal.h"

/* Returns whether the index is known to have more directories than the user can watch. */
static bool exceeds_watches(const struct follower *follower)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct catalog_totals totals = {0};

	return catalog_read_begin(follower->settings.indexing->catalog, &reader) == 0 &&
	       catalog_get_totals(reader, &totals) == 0 &&
	       totals.directories > inotify_watches_max().max;
}

int follower_open_watch(struct follower *follower, void (*wake)(void *follower))
{
	size_t count = follower->ingest.sources->count;
	const struct watch_settings settings = {
		.queues = source_states_queues(follower->sources, count),
		.groups = follower->settings.groups->list,
		.prefers_fanotify =
			follower->settings.mode == FOLLOW_FANOTIFY || exceeds_watches(follower),
		.wake = wake,
		.context = follower,
	};
	int r = settings.queues > 0 ? watch_new(&follower->watch, &settings) : 0;

	if (r == 0 || follower->settings.mode != FOLLOW_AUTO)
		return r;
	log_warning("cannot watch for changes: %s; walking all sources every %u s; see 'twinfs "
		    "doctor'",
		    error_text(r), (unsigned int)(follower->settings.interval_ms / 1000));
	source_states_poll_all(follower->sources, count);
	return 0;
}

const char *follower_watch_name(const struct follower *follower)
{
	struct watch_figures figures;

	if (follower->settings.mode == FOLLOW_NONE)
		return "none";
	if (!follower->watch)
		return "poll";
	watch_figures(follower->watch, &figures);
	return 2 * figures.fanotify_queues > figures.queues ? "fanotify" : "inotify";
}

bool follower_sees_all(const struct follower *follower)
{
	size_t count = follower->ingest.sources->count;

	for (size_t i = 0; i < count; i++) {
		if (source_state_is_walked(&follower->sources[i]))
			return false;
	}
	return !source_states_need_walk(follower->sources, count);
}
