/* SPDX-License-Identifier: MIT */
#ifndef INDEX_KEPT_H
#define INDEX_KEPT_H

/* The kept copy of a group, which uniques/ shows: the order of the candidates, and the choice in a
 * transaction. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "index/emptied_place.h"
#include "index/keep_rules.h"
#include "index/paths.h"
#include "index/record.h"

struct catalog_reader;
struct deferred_file;
struct file_record;
struct group_record;
struct known_place;
struct kept_member;

/* ---- the order --------------------------------------------------------------------- */

/* The order in which the copies of a group are candidates for the kept copy. The index, shared
 * views, lists and acts all use it. Pure code, any thread. */

/* The criteria, the most important one first. Those from KEPT_BY_MTIME on guess which copy is the
 * original. A kept copy stays kept while its content is the same, unless another copy is preferred
 * by its place or by a rule (kept_displaces()). */
enum kept_criterion {
	KEPT_BY_PLACE, /* the copy in the place that lasts longest (index/emptied_place.h) */
	KEPT_BY_RULE, /* the copy that the rules of the user prefer */
	KEPT_BY_SOURCE, /* the copy in the earlier source */
	KEPT_BY_FIRST_SEEN, /* the copy that an earlier scan or recheck found */
	KEPT_BY_MTIME, /* the copy that was written first */
	KEPT_BY_COPY_MARKS, /* the copy with fewer names like those of copies (has_copy_mark()) */
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

/* ---- names of copies --------------------------------------------------------------- */

/* Recognizes names that people and programs give to copies. Such a name proves nothing: of equal
 * files, it makes others the likelier originals. Any thread. */

/* Returns whether a name of length bytes looks like that of a copy:
 *
 * - it is hidden (.cache), or ends like a backup of an editor (notes.txt~)
 * - it has a word of the table in kept.c: "Backup 2022", "copy_of_v30.mp4", "report.bak"
 * - its stem ends with a number of one to three digits in parentheses or brackets: "a (1).jpg"
 *
 * Letters of ASCII match in both cases; digits at the end of a word are ignored. */
bool has_copy_mark(const char *name, size_t length);

/* Returns how many names of a path look like those of copies. */
uint32_t count_copy_marks(const char *path, size_t length);

/* ---- the choice -------------------------------------------------------------------- */

/* Only index uses this; one thread at a time. */

/* State for all choices of one transaction. No directory may move while it is used. The caller sets
 * the reader, the rules and the files; the other fields start as zero. */
struct kept_choice {
	struct catalog_reader *reader;
	const struct keep_rules *rules; /* borrowed */
	/* Files that joined in this transaction, by group and file. The records of these files are
	 * not read if choices are made in the order of groups. Borrowed; NULL: none. */
	const struct deferred_file *joined;
	size_t joined_count;
	struct known_place *places; /* cache of directory paths, by id */
	struct kept_member *kept; /* the kept copy that was judged last; NULL: none */
	/* kept_choose() found a member in a place that something else empties. */
	bool emptied;
};

/* Chooses among the members of the group. *kept is a file id, or 0 if there are no members. Returns
 * 0 or -errno. */
MUST_CHECK int kept_choose(struct kept_choice *choice, uint64_t group, uint64_t *kept);

/* Sets *displaces to whether kept_displaces() is true of the candidate and the kept copy. Both are
 * file ids. Returns 0, -ENOENT if one of them has no name, or another -errno. */
MUST_CHECK int kept_is_displaced(struct kept_choice *choice, uint64_t kept, uint64_t candidate,
				 bool *displaces);

/* Replaces *kept by the best member of the group if that one displaces it. Returns 0 or -errno. */
MUST_CHECK int kept_judge(struct kept_choice *choice, uint64_t group, uint64_t *kept);

/* Sets *emptied to whether a file is in a place that something else empties. Returns 0, -ENOENT if
 * it has no name, or another -errno. */
MUST_CHECK int kept_is_emptied(struct kept_choice *choice, uint64_t group, uint64_t file,
			       bool *emptied);

/* Sets *emptied to whether any member of the group is in such a place. Returns 0 or -errno. */
MUST_CHECK int kept_any_is_emptied(struct kept_choice *choice, uint64_t group, bool *emptied);

/* Sets *found to whether one scan, whose work has not ended, found both files. unended: of the
 * totals. Returns 0 or -errno. */
MUST_CHECK int kept_found_together(struct catalog_reader *reader, uint64_t a, uint64_t b,
				   uint64_t unended, bool *found);

/* Sets *earlier to whether the kept copy of the group left it as the kept copy before the file did.
 * Then the file was the kept copy only because that one was away. Returns 0 or -errno. */
MUST_CHECK int kept_was_earlier(struct catalog_reader *reader, const struct group_record *group,
				const struct file_record *file, bool *earlier);

/* Sets *place to a number that changes if a move of the directory changes the place of a file in
 * its tree (index/emptied_place.h). Returns 0, -ENOENT if the directory is missing, or -errno. */
MUST_CHECK int kept_get_place(struct catalog_reader *reader, uint64_t dir, uint64_t *place);

void kept_choice_deinit(struct kept_choice *choice);

#endif
