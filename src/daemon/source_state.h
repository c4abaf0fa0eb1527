/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_SOURCE_STATE_H
#define DAEMON_SOURCE_STATE_H

/* How each source is followed. Fields that are not atomic are constant once threads run. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "source/source.h"

enum follower_mode {
	FOLLOW_AUTO, /* inotify if it reports all changes, else poll */
	FOLLOW_INOTIFY,
	FOLLOW_POLL,
	FOLLOW_NONE,
};

struct source_state {
	bool polled; /* without watches */
	_Atomic uint64_t unwatched; /* directories that got no watch in the last walk */
	atomic_bool needs_walk; /* since the last walk, events did not report a change in full */
};

/* Creates one state for each source. The caller frees the list with free(3). Returns 0 or
 * -ENOMEM. */
MUST_CHECK int source_states_new(struct source_state **list, const struct sources *sources,
				 enum follower_mode mode);

/* Returns the number of event queues: one for each source up to the last one that is not polled. */
unsigned int source_states_queues(const struct source_state *list, size_t count);

/* Polls all sources, as there are no event queues. */
void source_states_poll_all(struct source_state *list, size_t count);

/* Requires a walk of a source and of all other sources on its file system. A changed file can have
 * links in any of these sources. */
void source_states_require_walk(struct source_state *list, const struct sources *sources,
				uint32_t source);

/* Requires a walk of all sources. */
void source_states_require_walk_all(struct source_state *list, size_t count);

/* Returns whether a watched source needs a walk because events did not report a change in full. */
bool source_state_needs_walk(struct source_state *states);

bool source_states_need_walk(struct source_state *list, size_t count); /* of any source */

/* Returns whether the source is walked at intervals because not all of it is watched. */
bool source_state_is_walked(struct source_state *states);

uint64_t source_states_unwatched(struct source_state *list, size_t count);

#endif
