/* SPDX-License-Identifier: MIT */
#ifndef REPORT_FOLDER_COUNT_H
#define REPORT_FOLDER_COUNT_H

/* Counts the files in whole folders, and what removing these folders would free. One thread at a
 * time. Linear in names. Takes 2 MiB; more inodes with several names, or with extents of other
 * files, are sorted in a file (report/sorter.h). */

#include <stdint.h>

#include "base/attributes.h"

struct catalog_reader;
struct sorter;

/* A count of zeros may be freed. */
struct folder_count {
	struct sorter *links; /* an entry for each visited name of an inode that has several */
	/* an entry for each inode that shares extents with others, by struct extent_record.sharing
	 */
	struct sorter *sharers;
	uint64_t files; /* names of regular files */
	uint64_t bytes; /* that removing the counted inodes would free */
};

/* Returns 0 or -ENOMEM. */
MUST_CHECK int folder_count_begin(struct folder_count *count);

void folder_count_free(struct folder_count *count);
#define CLEANUP_FOLDER_COUNT CLEANUP(folder_count_free)

/* Adds a folder, which neither contains an added folder nor is in one. Returns 0, -EINTR if
 * stop_requested(), or another -errno. */
MUST_CHECK int folder_count_add(struct folder_count *count, struct catalog_reader *reader,
				uint64_t dir);

/* Sets *bytes to what removing the inodes would free all of whose names are in the folders. Extents
 * that several of them hold count if these are all that share them. No folder can be added after
 * that. Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int folder_count_finish(struct folder_count *count, struct catalog_reader *reader,
				   uint64_t *bytes);

#endif
