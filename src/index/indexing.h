/* SPDX-License-Identifier: MIT */
#ifndef INDEX_INDEXING_H
#define INDEX_INDEXING_H

/* An index and its sources, opened to be brought up to date: what scan, list and mount share.
 *
 *	indexing_locate -> indexing_open -> indexing_names -> indexing_contents -> indexing_close
 *	                                 `------- indexing_update ------'
 *
 * locate looks at paths only, so that what the user said is checked before a daemon leaves the
 * terminal; open and all after it belong to one process. Each is called once, from one thread,
 * and logs what fails.
 */

#include "base/attributes.h"
#include "catalog/catalog.h"
#include "index/index_settings.h"
#include "ingest/ingest.h"
#include "source/source.h"

/* Outcomes that the caller must handle; failures are -errno. */
enum {
	INDEXING_IN_USE = 1, /* another process keeps the index up to date (not logged) */
};

struct indexing {
	const struct index_settings *settings; /* borrowed */
	char **paths; /* the sources, as source_paths_resolve() gives them */
	char *folder; /* of the index, absolute */
	/* Borrowed; the index that this one is held against, for a while: it lies in a folder within
	 * that one's. NULL: none. */
	struct catalog *beside;
	bool wary; /* a source that is empty and was never scanned is refused */
	bool distrusted; /* the index is checked wholly when it is opened */
	struct catalog *catalog;
	struct sources sources;
	struct ingest_settings ingest_settings;
	const struct ingest_hooks *hooks; /* borrowed; who follows the sources, NULL: nobody */
	struct ingest ingest;
};

/* Finds the sources and the folder of their index. 0 or -errno. */
MUST_CHECK int indexing_locate(struct indexing *indexing, const struct index_settings *settings,
			       char *const *given, size_t count);

/* Opens them. 0, INDEXING_IN_USE or -errno. */
MUST_CHECK int indexing_open(struct indexing *indexing);

/* Brings the names up to date, then what is known of the contents, showing how far it is. Both
 * end early when stop_requested(). 0 or -errno. */
MUST_CHECK int indexing_names(struct indexing *indexing, enum progress_when when);
MUST_CHECK int indexing_contents(struct indexing *indexing, enum progress_when when);

/* Both, as the settings say; tells the user when that was interrupted, and gives -EINTR then.
 *
 * times	when what was done, NULL where nobody asks
 */
struct indexing_times {
	uint64_t begin_ns; /* clock_monotonic_ns() */
	uint64_t named_ns;
	uint64_t end_ns;
};
MUST_CHECK int indexing_update(struct indexing *indexing, struct indexing_times *times);

/* Closes and frees what there is; a zeroed one will do. */
void indexing_close(struct indexing *indexing);
#define CLEANUP_INDEXING CLEANUP(indexing_close)

#endif
