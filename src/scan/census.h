/* SPDX-License-Identifier: MIT */
#ifndef SCAN_CENSUS_H
#define SCAN_CENSUS_H

/* A quick estimate of the size of a tree. It counts names up to a limit, without an index and
 * without reading files. Any thread. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct census_limits {
	uint64_t names; /* stop after this number of names */
	unsigned int milliseconds; /* stop after this time */
};

/* Directories with one property. */
struct census_places {
	uint64_t count;
	char *first; /* path from the root of the tree, "" for the root; NULL if count is 0 */
};

struct census {
	uint64_t directories; /* including the root of the tree and unreadable ones */
	uint64_t files; /* everything that is not a directory */
	uint64_t unreadable; /* directories that could not be listed */
	/* regular files whose owner and flags were checked: at most four in each directory */
	uint64_t sampled;
	uint64_t foreign; /* sampled files that another user owns */
	uint64_t immutable; /* sampled files with the flag of chattr(1) */
	uint64_t own_ctimes; /* sampled files whose ctime is not their mtime */
	/* Found on btrfs only. Subvolumes are other file systems, which are not entered. A file
	 * that is created in a nodatacow directory (chattr +C) is nodatacow too. */
	struct census_places subvolumes, nodatacow;
	bool complete; /* false: a limit was reached, so the tree is larger */
};

/* Counts the names below an open directory. Does not enter mount points or follow symlinks.
 * Blocks on the disk. Returns 0 or -ENOMEM. In both cases, census_deinit() must be called. */
MUST_CHECK int census_take(int directory, const struct census_limits *limits,
			   struct census *census);

void census_deinit(struct census *census);

#endif
