/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_COMPARER_H
#define DAEMON_COMPARER_H

/* The thread that compares files: first all that wait, then, while the view is served, those that
 * changed, when they have come to rest.
 *
 *	follower, commits --comparer_changed--> struct backoff --due--> ingest_compare
 *	barrier ----------comparer_barrier-----'       ^                       |
 *	                                             '- still busy, failed --'
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "index/indexing.h"

struct comparer;

struct comparer_settings {
	struct indexing
		*indexing; /* borrowed; its ingest is the comparer's in the first comparison */
	struct ingest_range range; /* of the sizes that it compares */
	bool held; /* the first comparison waits for comparer_begin() */
	enum progress_when progress; /* of the first comparison */
	/* The first comparison has ended: 0 or -errno. It is tried again until it succeeds, each time with
	 * this call, or gives -EUCLEAN. Not called when stopped before. */
	void (*compared)(void *context, int result);
	/* Comparing began or all that was due is done; problem: what keeps it from going on, 0 or
	 * positive errno. */
	void (*busy)(void *context, bool busy, int problem);
	/* All that was noted before this ticket is compared, but for files that somebody has open for
	 * writing.
	 *
	 * error	0, or positive errno: it could not be written to the index
	 * moved	some were not as the index has them: they are looked at again
	 */
	void (*barrier_reached)(void *context, uint64_t ticket, int error, bool moved);
	void *context;
};

/* settings are copied. 0 or -ENOMEM. */
MUST_CHECK int comparer_new(struct comparer **comparer, const struct comparer_settings *settings);

/* Starts the thread. 0 or -errno. */
MUST_CHECK int comparer_start(struct comparer *comparer);

/* Lets the first comparison begin. Any thread. */
void comparer_begin(struct comparer *comparer);

/* Ends the thread, after stop_request(); what is told afterwards is noted and left. Accepts
 * NULL. */
void comparer_stop(struct comparer *comparer);

void comparer_free(struct comparer *comparer); /* accepts NULL */

/* All below: any thread, never block for long.
 *
 * The content of a file is not known (any more).
 *
 * closed	nobody is known to be writing it still
 */
void comparer_changed(struct comparer *comparer, uint64_t file, bool closed);

/* A file of this size, whose content is known, came into the index by itself: who is being
 * compared was not compared with it. */
void comparer_note_rival(struct comparer *comparer, uint64_t size);
/* Did one, since the comparison under way began? */
bool comparer_has_new_rival(struct comparer *comparer, uint64_t size);

/* A file was found not to be as the index has it. */
void comparer_note_moved(struct comparer *comparer);

/* Tries again soon to read whatever could not be read before. What failed for a reason that may pass
 * is tried again in any case, after ever longer. */
void comparer_retry(struct comparer *comparer);

/* Compares what was noted so far at once. */
void comparer_barrier(struct comparer *comparer, uint64_t ticket);

#endif
