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
	/* for each source: inotify if it reports all changes, else poll; fanotify if inotify has
	 * too few watches */
	FOLLOW_AUTO,
	FOLLOW_INOTIFY, /* events of a watch for each directory */
	FOLLOW_FANOTIFY, /* events of whole file systems */
	FOLLOW_POLL, /* walks at intervals */
	FOLLOW_NONE, /* walks only for tickets and requests */
};

struct source_state {
	bool polled; /* the source has no watches */
	/* number of directories that could not be watched since the last walk began */
	_Atomic uint64_t unwatched;
	atomic_bool needs_walk; /* events did not report a change in full */
	/* used only by the follower: a walk of the source is requested or running; wall-clock time
	 * of the end of the last one, in seconds */
	bool is_walked;
	int64_t walked_s;
};

/* Creates one state for each source. The caller frees the list with free(3). Returns 0 or
 * -ENOMEM. */
MUST_CHECK int source_states_new(struct source_state **list, const struct sources *sources,
				 enum follower_mode mode);

/* Returns the number of event queues to create. The number of a source is that of its queue, so
 * this is 1 + the highest number of a source that is not polled, or 0. */
unsigned int source_states_queues(const struct source_state *list, size_t count);

/* Makes all sources polled. For a process that cannot create event queues. */
void source_states_poll_all(struct source_state *list, size_t count);

/* Requires a walk of a source, and of all sources that can have links to its files: those on the
 * same file system, or all if walks cross mounts. */
void source_states_require_walk(struct source_state *list, const struct sources *sources,
				uint32_t source);

/* Requires a walk of all sources. */
void source_states_require_walk_all(struct source_state *list, size_t count);

/* Returns whether a watched source needs a walk, as events did not report a change in full. Always
 * false for a polled source, which is walked anyway. */
bool source_state_needs_walk(struct source_state *states);

/* Returns whether source_state_needs_walk() for any source. */
bool source_states_need_walk(struct source_state *list, size_t count);

/* Returns whether events report only a part of the changes, so that walks have to find the rest:
 * the source is polled, or some of its directories are not watched. */
bool source_state_is_walked(struct source_state *states);

/* Notes that names were possibly moved during a walk: any source that is walked can lack them. */
void source_states_note_moved(struct source_state *list, const struct sources *sources);

/* Returns whether a source that is not missing can lack names that were moved. */
bool source_states_lack_moved(const struct sources *sources);

/* Notes that the requested walks have ended, except of missing sources. Returns the wall-clock time
 * in seconds since which each source was walked, or 0 if one never was. */
int64_t source_states_note_walked(struct source_state *list, const struct sources *sources,
				  int64_t now_s);

/* Returns the number of directories without a watch in all sources that are not polled. */
uint64_t source_states_unwatched(struct source_state *list, size_t count);

#endif
