/* SPDX-License-Identifier: MIT */
#ifndef REPORT_SUMMARY_H
#define REPORT_SUMMARY_H

/* The figures of an index. One thread at a time. */

#include <stdint.h>

#include "base/attributes.h"

struct catalog_reader;

struct report_summary {
	uint64_t groups;
	uint64_t redundant_files; /* inodes that another one is kept for */
	uint64_t redundant_bytes; /* their sizes */
	uint64_t reclaimable_bytes; /* what would come free without them */
	uint64_t files; /* inodes that are no directory */
	uint64_t directories;
	uint64_t bytes; /* sizes of regular files, each inode once */
	uint64_t errors;
	uint64_t pending;
	uint64_t pending_bytes;
};

/* Adds up the groups whose files have min_size bytes or more; the rest is of the whole index.
 * Linear in groups and files. 0 or -errno. */
MUST_CHECK int report_summarize(struct catalog_reader *reader, uint64_t min_size,
				struct report_summary *summary);

#endif
