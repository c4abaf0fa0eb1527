/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_POLLING_H
#define VIEW_FOLLOW_POLLING_H

/* A poll: the recheck of all directories without a watch, in the sources that are not wholly
 * watched; or a walk: that of all directories in the sources that need one. The follower takes
 * events between its portions.
 *
 *	polling_begin --> polling_continue: directories by id, some at a time --> ingest_recheck
 *	                       |                                                     |
 *	                       |      polling_holds, polling_note_misplaced <-- hooks '
 *	                       '--> the end: directories with names that are gone, again
 *
 * A name can move from one portion to another. So a name that is gone stays in the index until the
 * poll has passed all directories, where it has possibly found the name elsewhere. Directories that
 * are found during a poll are listed whole at once, so the poll does not pass them again. */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "scan/ingest.h"
#include "view/follow/event_set.h"
#include "view/follow/rechecks.h"
#include "view/follow/source_state.h"
#include "view/follow/watch.h"

/* Maximum number of directories whose gone names are held, and of those that are not at their
 * path. Further names are removed at once, as they are by an event. */
#define POLLING_HELD_MAX 4096

/* Unless a comment says otherwise, only the follower uses a field. */
struct polling {
	bool active;
	/* a source needs a walk, or lacks names that were moved past earlier walks */
	bool for_missed;
	bool moved; /* names were possibly moved past the poll, or past walks since it began */
	int64_t moved_ns; /* as in struct ingest_result */
	bool of_other_host; /* the last portion was on a file system of another host */
	bool trusts_signatures; /* as in struct ingest */
	struct walk_start start;
	uint64_t after, end; /* the ids of directories that are left; both are exclusive */
	size_t dirs; /* number of directories in a portion */
	uint64_t took_ns; /* time of all its portions */
	pthread_mutex_t lock; /* guards the fields below */
	struct event_set held; /* directories with names that are gone */
	struct event_set gone; /* directories whose names are gone */
	struct event_set misplaced; /* directories that were not at their paths */
	bool overflowed; /* more directories were not at their paths */
};

/* What a poll works on. All borrowed. */
struct polled {
	struct ingest *ingest;
	struct source_state *states;
	struct watch *watch; /* NULL: all sources are polled */
	struct recheck_inbox *inbox;
};

void polling_init(struct polling *polling);
void polling_deinit(struct polling *polling);

/* Begins a poll of all sources for which source_state_is_walked(). Ends a poll in progress.
 *
 * walks	it passes all directories of the sources for which source_state_needs_walk() instead
 */
void polling_begin(struct polling *polling, const struct polled *polled, bool walks);

/* Rechecks a portion, some ten milliseconds of work unless a single directory takes longer. After
 * the last one, removes the names that are gone, and sets the states of the sources. The caller
 * must first check the source roots. After a failure, the next call repeats the portion. Returns 0,
 * or -errno as ingest_recheck() does. */
MUST_CHECK int polling_continue(struct polling *polling, const struct polled *polled);

/* Returns whether a poll has passed a part of the directories. */
bool polling_is_under_way(const struct polling *polling);

/* Implements holds_gone() of struct ingest_hooks. Any thread. */
bool polling_holds(struct polling *polling, uint64_t dir, uint64_t child);

/* Notes that a directory was not at its path, or changed while it was rechecked. The end of the
 * poll requests its recheck if it still exists then. Returns false if the caller must request it.
 * Any thread. */
bool polling_note_misplaced(struct polling *polling, uint64_t dir);

/* Returns whether the index has names that are gone and held. Any thread. */
bool polling_has_held(struct polling *polling);

#endif
