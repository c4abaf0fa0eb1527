/* SPDX-License-Identifier: MIT */
#include "daemon/source_state.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/filesystem.h"
#include "watch/watch.h"

int source_states_new(struct source_state **list, const struct sources *sources,
		      enum follower_mode mode)
{
	*list = calloc(sources->count, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	/* inotify does not report changes by other hosts. On FUSE, it does not report changes that
	 * bypass the mount. */
	for (size_t i = 0; i < sources->count; i++) {
		(*list)[i].is_walked = true; /* by the first walk */
		(*list)[i].polled =
			i >= WATCH_QUEUES_MAX || mode == FOLLOW_POLL || mode == FOLLOW_NONE ||
			(mode == FOLLOW_AUTO && is_remote_filesystem(sources->list[i].fd));
	}
	return 0;
}

unsigned int source_states_queues(const struct source_state *list, size_t count)
{
	unsigned int queues = 0;

	for (size_t i = 0; i < count; i++) {
		if (!list[i].polled)
			queues = (unsigned int)i + 1;
	}
	return queues;
}

void source_states_poll_all(struct source_state *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		list[i].polled = true;
}

static bool share_filesystem(const struct sources *sources, size_t a, size_t b)
{
	struct stat one, other;

	return sources->cross_mounts || fstat(sources->list[a].fd, &one) < 0 ||
	       fstat(sources->list[b].fd, &other) < 0 || one.st_dev == other.st_dev;
}

void source_states_require_walk(struct source_state *list, const struct sources *sources,
				uint32_t source)
{
	for (size_t i = 0; i < sources->count; i++) {
		if (!atomic_load(&list[i].needs_walk) &&
		    (i == source || share_filesystem(sources, i, source)))
			atomic_store(&list[i].needs_walk, true);
	}
}

void source_states_require_walk_all(struct source_state *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		atomic_store(&list[i].needs_walk, true);
}

bool source_state_needs_walk(struct source_state *states)
{
	return !states->polled && atomic_load(&states->needs_walk);
}

bool source_states_need_walk(struct source_state *list, size_t count)
{
	bool needs_walk = false;

	for (size_t i = 0; i < count; i++)
		needs_walk |= source_state_needs_walk(&list[i]);
	return needs_walk;
}

bool source_state_is_walked(struct source_state *states)
{
	return states->polled || atomic_load(&states->unwatched) > 0;
}

void source_states_note_moved(struct source_state *list, const struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		if (source_state_is_walked(&list[i]))
			atomic_store(&sources->list[i].moved, true);
	}
}

bool source_states_lack_moved(const struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		if (source_lacks_moved(&sources->list[i]))
			return true;
	}
	return false;
}

int64_t source_states_note_walked(struct source_state *list, const struct sources *sources,
				  int64_t now_s)
{
	int64_t earliest_s = now_s;

	for (size_t i = 0; i < sources->count; i++) {
		if (list[i].is_walked && !atomic_load(&sources->list[i].missing)) {
			list[i].is_walked = false;
			list[i].walked_s = now_s;
		}
		if (list[i].walked_s < earliest_s)
			earliest_s = list[i].walked_s;
	}
	return earliest_s;
}

uint64_t source_states_unwatched(struct source_state *list, size_t count)
{
	uint64_t unwatched = 0;

	for (size_t i = 0; i < count; i++)
		unwatched += atomic_load(&list[i].unwatched);
	return unwatched;
}
