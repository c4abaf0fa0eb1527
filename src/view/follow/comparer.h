/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_COMPARER_H
#define VIEW_FOLLOW_COMPARER_H

/* The thread that compares files of a range of sizes. It first compares all unread files. Then it
 * compares each changed file after its debounce time.
 *
 *	follower, commits --comparer_note_changed--> struct backoff --due--> ingest_compare
 *	barrier ----------comparer_barrier-----'       ^                     |
 *	                                               '-- busy or failed ---+--> groups, committed
 *	                                                                     '--> barrier_reached
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "scan/indexing.h"

struct comparer;

struct comparer_settings {
	struct indexing *indexing; /* borrowed; the first comparison uses its ingest */
	struct ingest_range range; /* sizes of the files that this comparer compares */
	bool held; /* the first comparison waits for comparer_begin() */
	enum progress_when progress; /* of the first comparison */
	/* Reports the end of the first comparison: 0 or -errno. The first comparison is retried
	 * until it succeeds or fails with -EUCLEAN, and each attempt is reported. Not called after
	 * stop_request(). */
	void (*compared)(void *context, int result);
	/* Reports that a comparison begins (busy) or ended. After a failure, busy stays true until
	 * a comparison succeeds, and problem is the positive errno, else 0. */
	void (*busy)(void *context, bool busy, int problem);
	/* Reports that all files noted before this ticket are compared, except files that are being
	 * written or cannot be read.
	 *
	 * error	0, or a positive errno if the comparison failed
	 * moved	a file differed from its index entry; the follower rechecks it
	 */
	void (*barrier_reached)(void *context, uint64_t ticket, int error, bool moved);
	void *context;
};

/* Copies settings. Returns 0 or -ENOMEM. */
MUST_CHECK int comparer_new(struct comparer **comparer, const struct comparer_settings *settings);

/* Starts the thread. Returns 0 or -errno. */
MUST_CHECK int comparer_start(struct comparer *comparer);

/* Starts the first comparison of a comparer that is held. Any thread. */
void comparer_begin(struct comparer *comparer);

/* Ends the thread. The caller must call stop_request() first. Later notes are stored and not
 * processed. Accepts NULL. */
void comparer_stop(struct comparer *comparer);

void comparer_free(struct comparer *comparer); /* accepts NULL */

/* Any thread may call the functions below. They never block for long. */

/* Notes a file whose content is unknown, so that it is compared.
 *
 * closed	no program is known to have the file open for writing
 */
void comparer_note_changed(struct comparer *comparer, uint64_t file, bool closed);

/* Notes a rival: a file of this size that entered the index with its content known. The comparison
 * under way does not include the rival, although the rival possibly has equal bytes. */
void comparer_note_rival(struct comparer *comparer, uint64_t size);

/* Returns whether a rival of this size was noted since the comparison under way began. If memory
 * ran out for a note, returns true. */
bool comparer_has_new_rival(struct comparer *comparer, uint64_t size);

/* Notes for settings.barrier_reached that a file differed from its index entry. */
void comparer_note_moved(struct comparer *comparer);

/* Requests a retry of all files that could not be read. Without this call, only files with a
 * temporary error are retried, with a growing delay. */
void comparer_retry(struct comparer *comparer);

/* Requests a comparison of all noted files without debounce. settings.barrier_reached reports its
 * end. */
void comparer_barrier(struct comparer *comparer, uint64_t ticket);

#endif
