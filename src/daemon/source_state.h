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

struct source_state {
	bool polled; /* no event is asked for */
	_Atomic uint64_t unwatched; /* directories that got no watch in the last walk */
	atomic_bool needs_walk; /* something happened since then that no event tells enough of */
};

/* One for each source. The caller frees it with free(3). 0 or -ENOMEM. */
MUST_CHECK int source_states_new(struct source_state **list, const struct sources *sources,
				 enum follower_mode mode);

/* So many queues are needed for those that are not polled: one up to the last of them. */
unsigned int source_states_queues(const struct source_state *list, size_t count);

/* There are no queues to be had. */
void source_states_poll_all(struct source_state *list, size_t count);

/* Something happened in a source that may be, by another name, in any source on its file system. */
void source_states_require_walk(struct source_state *list, const struct sources *sources,
				uint32_t source);

/* The same, and in which source is not known. */
void source_states_require_walk_all(struct source_state *list, size_t count);

/* Did something happen that no event tells enough of, where events are asked for? */
bool source_state_needs_walk(struct source_state *states);

bool source_states_need_walk(struct source_state *list, size_t count); /* any of them */

/* Must it be walked to know how it is, as events do not tell all? */
bool source_state_is_walked(struct source_state *states);

uint64_t source_states_unwatched(struct source_state *list, size_t count);

#endif
