/* SPDX-License-Identifier: MIT */
#include "cli/followed.h"

#include <errno.h>
#include <stdlib.h>

#include "catalog/remote.h"
#include "watch/watch.h"

/* inotify sees nothing of what other hosts do, nor, on FUSE, what goes past the mount. */
static bool sees_all(const struct source *source)
{
	return !is_remote_filesystem(source->fd);
}

int followed_new(struct followed **list, const struct sources *sources, enum follower_mode mode)
{
	*list = calloc(sources->count, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	for (size_t i = 0; i < sources->count; i++)
		(*list)[i].polled = i >= WATCH_QUEUES_MAX || mode == FOLLOW_POLL ||
				    mode == FOLLOW_NONE ||
				    (mode == FOLLOW_AUTO && !sees_all(&sources->list[i]));
	return 0;
}

unsigned int followed_queues(const struct followed *list, size_t count)
{
	unsigned int queues = 0;

	for (size_t i = 0; i < count; i++) {
		if (!list[i].polled)
			queues = (unsigned int)i + 1;
	}
	return queues;
}

void followed_poll_all(struct followed *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		list[i].polled = true;
}

bool followed_is_missed(struct followed *followed)
{
	return atomic_load(&followed->missed);
}

bool followed_is_walked(struct followed *followed)
{
	return followed->polled || followed_is_missed(followed) ||
	       atomic_load(&followed->unwatched) > 0;
}

uint64_t followed_unwatched(struct followed *list, size_t count)
{
	uint64_t unwatched = 0;

	for (size_t i = 0; i < count; i++)
		unwatched += atomic_load(&list[i].unwatched);
	return unwatched;
}
