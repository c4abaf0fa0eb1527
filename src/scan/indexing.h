/* SPDX-License-Identifier: MIT */
#ifndef SCAN_INDEXING_H
#define SCAN_INDEXING_H

/* An index and its sources, opened for an update by scan, list, mount and others.
 *
 *	indexing_locate -> indexing_open -> indexing_names -> indexing_contents -> indexing_close
 *	                                 `------- indexing_update ------'
 *
 * indexing_locate() checks the operands before a daemon detaches from the terminal, and keeps
 * nothing open. The later functions must run in one process. The functions are called in this order
 * by the main thread, and log failures.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/progress.h"
#include "base/text.h"
#include "index/catalog.h"
#include "index/keep_rules.h"
#include "index/operands.h"
#include "index/patterns.h"
#include "index/source.h"
#include "scan/ingest.h"
#include "scan/shared_contents.h"

/* ---- settings ------------------------------------------------------------------------------- */

/* Settings of a command: its index, and the scan that updates it. The options of the command line
 * set these fields (cli/common_options.h). For the main thread. */

struct index_settings {
	const char *folder; /* as given, borrowed; NULL: the default folder of the sources */
	uint64_t min_size; /* bytes */
	bool min_size_given;
	struct text_list excludes; /* globs */
	/* those of them that were read from a file or from the index */
	struct text_list listed_excludes;
	bool cross_mounts;
	bool file_systems_given; /* --one-file-system or --cross-file-systems */
	enum ingest_disk disk;
	bool disk_given;
	bool accept_changed_source;
	/* The index is printed as it is: the sources are not examined, and can be absent. */
	bool no_scan;
	bool names_only; /* names are updated, but no contents are compared */
	bool takes_files; /* operands can be files */
	/* File with the names of the operands, as given, borrowed. NULL: the command line has
	 * them. */
	const char *names_from;
	enum progress_when progress;
};

/* Sets the defaults. */
void index_settings_init(struct index_settings *settings);

/* Frees what the settings own. */
void index_settings_deinit(struct index_settings *settings);

/* Returns the word of an enum ingest_disk. For a value from an index of another version, returns
 * "unknown". */
const char *index_disk_word(uint32_t disk);

/* ---- an index and its sources --------------------------------------------------------------- */

/* Outcomes that the caller must handle; failures are -errno. */
enum {
	INDEXING_IN_USE = 1, /* another process maintains the index (not logged) */
};

struct indexing {
	const struct index_settings *settings; /* borrowed */
	struct text_list paths; /* the sources, from source_paths_resolve() */
	struct operands operands; /* if the user named files */
	bool has_operands; /* paths is the folder of the operands */
	char *folder; /* of the index, absolute */
	/* NULL, or if this is a temporary index: the index with which it is compared. The folder of
	 * the temporary index is in the folder of that index. Borrowed. */
	struct catalog *beside;
	/* The keep rules to store in the index, without the form for each source; NULL: those that
	 * the index has stay. Borrowed. */
	struct keep_rules *given_keep;
	bool left_out_named; /* file systems that are left out were named, or must not be */
	struct keep_rules keep; /* those of the index, set by indexing_open() */
	bool widens; /* a query: the scan includes at least what the last one included */
	bool wary; /* refuse an empty source that was never scanned */
	bool distrusted; /* check the whole index when it is opened */
	struct catalog *catalog;
	struct sources sources;
	struct lenders shared; /* other indexes, if this one is new */
	struct text_list globs; /* of the names that the scan excludes */
	struct patterns excludes; /* made of these, or of other globs */
	uint64_t unmatched_excludes; /* that matched no name in the last walk, and were logged */
	struct ingest_settings ingest_settings;
	const struct ingest_hooks *hooks; /* borrowed; of a follower, NULL: none */
	struct ingest ingest;
};

/* Finds the sources and the folder of their index. Refuses an empty source that is the mount point
 * of an unmounted view (source_check.h). With settings->takes_files, given can have files; if so,
 * the index has only what the user named (index/operands.h). Returns 0, -EINTR if
 * stop_requested(), or another -errno. */
MUST_CHECK int indexing_locate(struct indexing *indexing, const struct index_settings *settings,
			       char *const *given, size_t count);

/* Opens the index, undoes interrupted acts, and opens the sources. Refuses sources that changed
 * since they were indexed (source_check.h). Returns 0, INDEXING_IN_USE or -errno. */
MUST_CHECK int indexing_open(struct indexing *indexing);

/* Replaces the excluded names by those of other globs, NULL-terminated and borrowed, before a walk.
 * Returns 0 or -ENOMEM. */
MUST_CHECK int indexing_set_excludes(struct indexing *indexing, char *const *globs);

/* indexing_names() walks the sources and updates all names; it rebuilds a damaged index.
 * indexing_contents() then compares contents. Both show progress, and end early if
 * stop_requested(). Return 0 or -errno. */
MUST_CHECK int indexing_names(struct indexing *indexing, enum progress_when when);
MUST_CHECK int indexing_contents(struct indexing *indexing, enum progress_when when);

/* Updates names and contents, and rebuilds a damaged index. Returns 0, -EINTR if it was
 * interrupted, or another -errno; all logged.
 *
 * times	set to the times of the steps; may be NULL
 */
struct indexing_times {
	uint64_t begin_ns; /* as from clock_monotonic_ns(); so are the next fields */
	uint64_t named_ns; /* when all names were updated */
	uint64_t end_ns;
};
MUST_CHECK int indexing_update(struct indexing *indexing, struct indexing_times *times);

/* Walks the sources once more after indexing_update(), and again as long as a walk finds a change.
 * Then all that the index has existed at one moment, between the last two walks. A single walk can
 * miss a file that is moved from a directory that it has not listed to one that it has.
 *
 * Sets *steady to false if each of several walks found a change. Returns 0, -EINTR or another
 * -errno, all logged. */
MUST_CHECK int indexing_confirm(struct indexing *indexing, bool *steady);

/* Closes and frees everything. Accepts a zeroed struct. */
void indexing_close(struct indexing *indexing);
#define CLEANUP_INDEXING CLEANUP(indexing_close)

enum progress_phase {
	PROGRESS_NAMES,
	PROGRESS_CONTENTS,
};

/* Returns the progress of an ingest. Any thread. */
struct progress_counts progress_counts_of(const struct ingest *ingest, enum progress_phase phase);

#endif
