/* SPDX-License-Identifier: MIT */
#ifndef VIEW_VISIBLE_COPIES_H
#define VIEW_VISIBLE_COPIES_H

/* What of a group is for the caller of a query: the copies that he finds (view/access.h), as if
 * there were no others. So nothing of what he is shown depends on a file that he may not read: not
 * whether there is a group, nor its number of copies, which of them is kept, or how many other
 * groups have the same hash.
 *
 * A group is one for him with two inodes or more: if he were shown one with a single copy of his,
 * he would know that somebody else has the same bytes. Of his copies the kept one is the first by
 * source, then by when it was found, then by path.
 *
 * For a query without a caller all is as the index has it, at no cost. Each may block on the
 * source. Any thread. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "view/query.h"

struct entry_record;
struct group_record;

/* Makes of the record of a group that of the caller's group: its inodes, the kept one, its ordinal;
 * when it changed is not for him. Then group_is_visible says whether he has one. 0 or -errno. */
MUST_CHECK int visible_group(const struct view_query *query, struct group_record *group);

/* The group of his that a file is in, by whatever name he finds it; id 0: it is in none. */
MUST_CHECK int visible_group_of_file(const struct view_query *query, uint64_t file,
				     struct group_record *group);

/* Is a file redundant for the caller, by a name of it? As catalog_is_redundant(). */
MUST_CHECK int visible_is_redundant(const struct view_query *query,
				    const struct entry_record *entry, bool *redundant);

/* Is a name one of a copy in a group of his? -ENOENT: it is not. */
MUST_CHECK int visible_has_copy(const struct view_query *query, uint64_t group,
				const struct entry_record *entry);

/* The group that the caller knows by a hash and ordinal. -ENOENT: there is none. */
MUST_CHECK int visible_find_group(const struct view_query *query, struct hash128 hash,
				  uint32_t ordinal, struct group_record *group);

/* A number for what is remembered for a caller alone; 0: who may see everything. */
uint64_t visible_cache_caller(const struct view_query *query);

#endif
