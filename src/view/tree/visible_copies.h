/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_VISIBLE_COPIES_H
#define VIEW_TREE_VISIBLE_COPIES_H

/* The part of a group that the caller of a query sees: the copies that the caller finds
 * (view/tree/access.h), as if there were no others. Nothing that is shown depends on a file that
 * the caller cannot read. This includes whether a group exists, its number of copies, the kept
 * copy, and the number of other groups with the same hash.
 *
 * A group is visible if the caller finds at least two inodes of it. A visible group with a single
 * copy would reveal that a hidden file has the same bytes. The kept copy is the first of the
 * visible ones by source, then by time of discovery, then by path.
 *
 * For a query without a caller the result is that of the index, without an access to the source.
 * Each function can block on the source. Any thread. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "view/tree/query.h"

struct entry_record;
struct group_record;

/* Replaces the fields of a group's record by those for the caller: inodes, kept copy, ordinal. The
 * time of the last change becomes that of view_init. group_is_visible then says whether the group
 * is visible. Returns 0 or -errno. */
MUST_CHECK int visible_group(const struct view_query *query, struct group_record *group);

/* Finds the caller's group of a file that the caller finds by any name. Sets group->id to 0 if the
 * file is in no such group. Returns 0 or -errno. */
MUST_CHECK int visible_group_of_file(const struct view_query *query, uint64_t file,
				     struct group_record *group);

/* Sets *redundant to whether a name refers to a file that is redundant for the caller, by that
 * name. Returns 0 or -errno. */
MUST_CHECK int visible_is_redundant(const struct view_query *query,
				    const struct entry_record *entry, bool *redundant);

/* Checks whether a name is a copy in this group, for the caller. Returns 0, -ENOENT if not, or
 * another -errno. */
MUST_CHECK int visible_has_copy(const struct view_query *query, uint64_t group,
				const struct entry_record *entry);

/* Finds the group that has this hash and ordinal for the caller. Returns 0, -ENOENT if there is
 * none, or another -errno. */
MUST_CHECK int visible_find_group(const struct view_query *query, struct hash128 hash,
				  uint32_t ordinal, struct group_record *group);

#endif
