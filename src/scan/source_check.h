/* SPDX-License-Identifier: MIT */
#ifndef SCAN_SOURCE_CHECK_H
#define SCAN_SOURCE_CHECK_H

/* Refuses sources that changed since they were indexed, and reports what a result lacks of its
 * sources. The usual cause of a change is a disk that is not mounted, or a source that is the mount
 * point of an unmounted view. With --accept-changed-source, such sources are accepted. For the main
 * thread.
 */

#include <stdint.h>

#include "base/attributes.h"
#include "index/source.h"
#include "scan/indexing.h"
#include "twinfs/exit.h"

struct catalog_reader;

/* Use of the index, which decides what is refused. */
enum source_check_use {
	SOURCE_CHECK_OWN, /* this process updates the index */
	/* This process updates the index. Also refuses an empty source that was never scanned. */
	SOURCE_CHECK_WARY,
	SOURCE_CHECK_SERVED, /* the index is only read, so --accept-changed-source has no effect */
};

/* Compares the opened sources with the index. Returns 0, -ESTALE if a source is refused, or another
 * -errno; all logged. */
MUST_CHECK int source_check(const struct sources *sources, const struct index_settings *settings,
			    enum source_check_use use);

/* Refuses a path in a view or in a folder of twinfs (index/own.h), also through a bind mount. A
 * walk leaves both out, and each file in a view would seem to be a copy of itself. Returns 0,
 * -EINVAL if the path is refused, or another -errno; all logged. */
MUST_CHECK int source_check_content(const char *path);

/* Refuses empty directories that were the last mount point of a view. These mount points are read
 * from the index of --index and from all indexes of the default folder.
 *
 * paths	NULL-terminated, from source_paths_resolve()
 *
 * Returns 0, -ESTALE (logged) if a directory is refused, or another -errno. */
MUST_CHECK int source_check_mount_points(char *const *paths, const struct index_settings *settings);

/* ---- what a result lacks -------------------------------------------------------------------- */

/* Returns the exit status for this number of unreadable files and of files that are not compared
 * yet. Logs a warning for each number above 0. */
enum twinfs_exit completeness_status(uint64_t errors, uint64_t pending);

/* Logs that files are missing in the result, because they had no name whenever the index was read.
 */
void completeness_name_missed(uint64_t missed);

/* Logs each file and directory that could not be read, as a warning. Returns 0 or -errno. */
MUST_CHECK int completeness_name_errors(struct catalog_reader *reader,
					const struct sources *sources);

/* Logs which file systems below the sources are left out, unless the user gave an option that says
 * so, as one warning. Returns 0 or -errno. */
MUST_CHECK int completeness_name_left_out(struct catalog *catalog, const struct sources *sources,
					  const struct index_settings *settings);

#endif
