/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_SOURCE_STATE_H
#define DAEMON_SOURCE_STATE_H

/* How each source is followed. What is not atomic is constant once threads run. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "source/source.h"

enum follower_mode {
	FOLLOW_AUTO, /* inotify where it sees everything, else poll */
	FOLLOW_INOTIFY,
	FOLLOW_POLL,
	FOLLOW_NONE,
};

struct followed {
	bool polled; /* no event is asked for */
	_Atomic uint64_t unwatched; /* directories that got no watch in the last walk */
	atomic_bool missed; /* something happened since then that no event tells enough of */
};

/* One for each source. The caller frees it with free(3). 0 or -ENOMEM. */
MUST_CHECK int followed_new(struct followed **list, const struct sources *sources,
			    enum follower_mode mode);

/* So many queues are needed for those that are not polled: one up to the last of them. */
unsigned int followed_queues(const struct followed *list, size_t count);

/* There are no queues to be had. */
void followed_poll_all(struct followed *list, size_t count);

/* Something happened in a source that may be, by another name, in any source on its file system. */
void followed_miss(struct followed *list, const struct sources *sources, uint32_t source);

/* The same, and in which source is not known. */
void followed_miss_all(struct followed *list, size_t count);

/* Did something happen that no event tells enough of, where events are asked for? */
bool followed_is_missed(struct followed *followed);

bool followed_have_missed(struct followed *list, size_t count); /* any of them */

/* Must it be walked to know how it is, as events do not tell all? */
bool followed_is_walked(struct followed *followed);

uint64_t followed_unwatched(struct followed *list, size_t count);

#endif
