/* SPDX-License-Identifier: MIT */
#ifndef INGEST_CENSUS_H
#define INGEST_CENSUS_H

/* How large a tree is, roughly and soon: counted up to a limit, without an index and without
 * reading a file. Any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct census_limits {
	uint64_t names; /* so many names are looked at */
	unsigned int milliseconds; /* and for so long */
};

struct census {
	uint64_t directories; /* the tree itself, too */
	uint64_t files; /* whatever is no directory */
	uint64_t unreadable; /* directories that could not be listed */
	uint64_t sampled; /* regular files whose owner was looked at, some of each folder */
	uint64_t foreign; /* those of them that are another user's than asks */
	bool complete; /* else there is more than was counted */
};

/* Counts below an open directory, in which no other file system is entered and no symlink followed.
 * Blocks on the disk. 0, or -errno: -ENOMEM; what cannot be listed is counted as such. */
MUST_CHECK int census_take(int directory, const struct census_limits *limits,
			   struct census *census);

#endif
