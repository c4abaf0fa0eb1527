/* SPDX-License-Identifier: MIT */
#ifndef INDEX_INDEXING_H
#define INDEX_INDEXING_H

/* An index and its sources, opened for an update by scan, list, mount and others.
 *
 *	indexing_locate -> indexing_open -> indexing_names -> indexing_contents -> indexing_close
 *	                                 `------- indexing_update ------'
 *
 * indexing_locate() examines paths only, so that operands are checked before a daemon detaches from
 * the terminal. The later functions must run in one process. Each is called once, from one thread,
 * and logs failures.
 */

#include "base/attributes.h"
#include "catalog/catalog.h"
#include "index/index_settings.h"
#include "ingest/ingest.h"
#include "source/source.h"

/* Outcomes that the caller must handle; failures are -errno. */
enum {
	INDEXING_IN_USE = 1, /* another process maintains the index (not logged) */
};

struct indexing {
	const struct index_settings *settings; /* borrowed */
	struct text_list paths; /* the sources, from source_paths_resolve() */
	char *folder; /* of the index, absolute */
	/* Borrowed; the index with which this temporary index is compared, or NULL. The folder of
	 * this temporary index is in the folder of that index. */
	struct catalog *beside;
	bool wary; /* refuse an empty source that was never scanned */
	bool distrusted; /* check the whole index when it is opened */
	struct catalog *catalog;
	struct sources sources;
	struct ingest_settings ingest_settings;
	const struct ingest_hooks *hooks; /* borrowed; of a follower, NULL: none */
	struct ingest ingest;
};

/* Finds the sources and the folder of their index. Returns 0 or -errno. */
MUST_CHECK int indexing_locate(struct indexing *indexing, const struct index_settings *settings,
			       char *const *given, size_t count);

/* Opens index and sources, and undoes interrupted acts. Returns 0, INDEXING_IN_USE or -errno. */
MUST_CHECK int indexing_open(struct indexing *indexing);

/* Walk the sources and update all names; then compare contents. Both show progress, and end early
 * if stop_requested(). Return 0 or -errno. */
MUST_CHECK int indexing_names(struct indexing *indexing, enum progress_when when);
MUST_CHECK int indexing_contents(struct indexing *indexing, enum progress_when when);

/* Updates names and contents. Returns 0, -EINTR if it was interrupted, or another -errno; all
 * logged.
 *
 * times	receives the times of the steps, NULL: not needed
 */
struct indexing_times {
	uint64_t begin_ns; /* clock_monotonic_ns() */
	uint64_t named_ns;
	uint64_t end_ns;
};
MUST_CHECK int indexing_update(struct indexing *indexing, struct indexing_times *times);

/* Closes and frees everything. Accepts a zeroed struct. */
void indexing_close(struct indexing *indexing);
#define CLEANUP_INDEXING CLEANUP(indexing_close)

#endif
