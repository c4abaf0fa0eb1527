/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_LANES_H
#define VIEW_FOLLOW_LANES_H

/* The threads that compare files, and the mapper behind them. A lane has one comparer for a range
 * of sizes. It first compares all unread files, and then each changed file after its debounce time.
 * One lane has the small files and one the large ones, so that no small file waits until a large
 * file is read. The first comparison of the large lane begins after that of the small lane, as one
 * reader uses a disk better than two.
 *
 *	changed file, rival --by size--> small or large
 *	barrier ---> small ---> large ---> mapper ---> barrier_reached
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "scan/indexing.h"

struct commit_delta;
struct lanes;

struct lanes_settings {
	struct indexing *indexing; /* borrowed; the first comparison uses its ingest */
	enum progress_when progress; /* of the first comparison */
	/* Reports once that both lanes have compared and the groups are mapped (0), or that one of
	 * them has failed (-errno). A lane retries its first comparison until it succeeds or fails
	 * with -EUCLEAN. Not called after stop_request(). */
	void (*compared)(void *context, int result);
	/* Reports that a comparison of any lane begins (busy) or that all have ended. After a
	 * failure, busy stays true until a comparison succeeds, and problem is the positive errno,
	 * else 0. One thread at a time calls it. */
	void (*busy)(void *context, bool busy, int problem);
	/* Reports that all files noted before this ticket are compared, except files that are being
	 * written or cannot be read. Always the same thread calls it.
	 *
	 * error	0, or a positive errno if the comparison failed
	 * moved	a file differed from its index entry; the follower rechecks it
	 */
	void (*barrier_reached)(void *context, uint64_t ticket, int error, bool moved);
	void *context;
};

/* Copies settings. Returns 0 or -ENOMEM. */
MUST_CHECK int lanes_new(struct lanes **lanes, const struct lanes_settings *settings);

/* Starts the threads. Returns 0 or -errno. */
MUST_CHECK int lanes_start(struct lanes *lanes);

/* Ends the threads. The caller must call stop_request() first. Later notes are stored and not
 * processed. Accepts NULL. */
void lanes_stop(struct lanes *lanes);

void lanes_free(struct lanes *lanes); /* accepts NULL */

/* Any thread may call the functions below. They never block for long. */

/* Notes the files that a commit left unread, the rivals in it, and the groups to map. A rival is a
 * file that entered the index with its content known: the comparison under way does not include it,
 * although it possibly has equal bytes. */
void lanes_note_commit(struct lanes *lanes, const struct commit_delta *delta);

/* Returns whether a rival of this size was noted since the comparison under way began. If memory
 * ran out for a note, returns true. */
bool lanes_have_new_rival(struct lanes *lanes, uint64_t size);

/* Notes for settings.barrier_reached that a file differed from its index entry. */
void lanes_note_moved(struct lanes *lanes);

/* Requests a retry of all files that could not be read. Without this call, only files with a
 * temporary error are retried, with a growing delay. */
void lanes_retry(struct lanes *lanes);

/* Requests a comparison of all noted files without debounce, and then a run of the mapper.
 * settings.barrier_reached reports its end. */
void lanes_barrier(struct lanes *lanes, uint64_t ticket);

/* Notes that any file possibly shares other extents than before. */
void lanes_remap(struct lanes *lanes);

/* Notes a file of unknown size that was written to and is possibly still open. */
void lanes_note_written(struct lanes *lanes, uint64_t file);

#endif
