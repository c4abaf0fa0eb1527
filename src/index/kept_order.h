/* SPDX-License-Identifier: MIT */
#ifndef INDEX_KEPT_ORDER_H
#define INDEX_KEPT_ORDER_H

/* The order in which the copies of a group are candidates for the kept copy. The index, shared
 * views, lists and acts all use it. Pure code, any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index/emptied_place.h"
#include "index/keep_rules.h"
#include "index/paths.h"
#include "index/record.h"

/* The criteria, the most important one first. Those from KEPT_BY_MTIME on guess which copy is the
 * original. A kept copy stays kept while its content is the same, unless another copy is preferred
 * by its place or by a rule (kept_displaces()). */
enum kept_criterion {
	KEPT_BY_PLACE, /* the copy in the place that lasts longest (index/emptied_place.h) */
	KEPT_BY_RULE, /* the copy that the rules of the user prefer */
	KEPT_BY_SOURCE, /* the copy in the earlier source */
	KEPT_BY_FIRST_SEEN, /* the copy that an earlier scan or recheck found */
	KEPT_BY_MTIME, /* the copy that was written first */
	KEPT_BY_COPY_MARKS, /* the copy with fewer names like those of copies (copy_marks.h) */
	KEPT_BY_BIRTH, /* the copy whose inode was created first */
	KEPT_BY_DEPTH, /* the copy in fewer folders */
	KEPT_BY_PATH, /* the copy whose path is first in the order of bytes */
};

/* What the criteria compare: of an inode, and of one of its names. */
struct kept_rank {
	/* These belong to the inode. */
	uint32_t first_seen; /* number of the scan or recheck that found it */
	uint32_t links; /* st_nlink; for rules only */
	struct timespec mtime; /* the nanoseconds are for rules only */
	int64_t birth; /* birth time in ns since 1970; INT64_MAX: unknown */
	/* These belong to the name. */
	enum emptied_place place;
	uint32_t source; /* number of the source */
	uint32_t copy_marks;
	uint32_t depth; /* number of slashes in the path */
	size_t absolute_length; /* bytes of the absolute path; for rules only */
	/* Borrowed; relative to the source. For rules, it ends with a NUL, which path_length does
	 * not count. */
	const void *path;
	size_t path_length; /* bytes */
};

/* Sets what belongs to the inode. */
void kept_rank_set_inode(struct kept_rank *rank, uint32_t first_seen,
			 const struct attributes *attributes);

/* Sets what belongs to the name.
 *
 * location	of the name, from the index, with the number of the source
 * source_path	absolute path of the source
 * path		borrowed; relative to the source, length bytes */
void kept_rank_set_name(struct kept_rank *rank, const struct location *location,
			const char *source_path, const void *path, size_t length);

/* What decides between two candidates. */
struct kept_reason {
	enum kept_criterion by;
	size_t rule; /* KEPT_BY_RULE: position of the rule */
};

/* Compares two candidates.
 *
 * reason	set to what decides, but not if the result is 0; may be NULL
 *
 * Returns a negative number if a is preferred, a positive one if b is preferred, 0 if they are
 * equal. */
int kept_order(const struct keep_rules *rules, const struct kept_rank *a, const struct kept_rank *b,
	       struct kept_reason *reason);

/* Compares two candidates by one rule. The result is that of kept_order(). */
int kept_order_by_rule(const struct keep_rules *rules, size_t rule, const struct kept_rank *a,
		       const struct kept_rank *b);

/* Returns whether the candidate takes the place of a kept copy. */
bool kept_displaces(const struct keep_rules *rules, const struct kept_rank *candidate,
		    const struct kept_rank *kept);

#endif
