/* SPDX-License-Identifier: MIT */
#ifndef INDEX_KEPT_H
#define INDEX_KEPT_H

/* Chooses the kept copy of a group, which uniques/ shows, by kept_order.h. Only index includes
 * this; one thread at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct catalog_reader;
struct deferred_file;
struct file_record;
struct group_record;
struct keep_rules;
struct known_place;
struct kept_member;

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

/* Sets *displaces to whether the candidate takes the place of the kept copy (kept_order.h). Both
 * are file ids. Returns 0, -ENOENT if one of them has no name, or another -errno. */
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
