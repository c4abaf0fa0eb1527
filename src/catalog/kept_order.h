/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_KEPT_ORDER_H
#define CATALOG_KEPT_ORDER_H

/* The order in which the copies of a group are candidates for the kept copy. The index, shared
 * views, and the rules of lists and acts all use it. Pure code, any thread. */

#include <stddef.h>
#include <stdint.h>

/* The criteria, the most important one first. */
enum kept_criterion {
	KEPT_BY_SOURCE, /* the copy in the earlier source */
	KEPT_BY_FIRST_SEEN, /* the copy that an earlier scan or recheck found */
	KEPT_BY_PATH, /* the copy whose path is first in the order of bytes */
};

/* What the criteria compare. */
struct kept_rank {
	uint32_t source; /* number of the source */
	uint32_t first_seen; /* number of the scan or recheck that found the inode */
	const void *path; /* borrowed; relative to the source, without a NUL */
	size_t path_length; /* bytes */
};

/* Compares two candidates.
 *
 * by	set to the criterion that decides, but not if the result is 0; may be NULL
 *
 * Returns a negative number if a is preferred, a positive one if b is preferred, 0 if they are
 * equal. */
int kept_order(const struct kept_rank *a, const struct kept_rank *b, enum kept_criterion *by);

#endif
