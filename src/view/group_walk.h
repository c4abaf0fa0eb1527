/* SPDX-License-Identifier: MIT */
#ifndef VIEW_GROUP_WALK_H
#define VIEW_GROUP_WALK_H

/* Lists the folder of a group: every name of every inode in the group. The time is linear in the
 * number of names and inodes. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "catalog/record.h"
#include "view/copy_name.h"
#include "view/node_ops.h"

/* Writes the name of an entry in the folder of its group. kept: with the mark of the kept copy.
 * Returns 0 or -errno. */
MUST_CHECK int group_copy_name(const struct view_query *query, const struct entry_record *entry,
			       bool kept, char name[static COPY_NAME_SIZE]);

/* The list operation of struct node_ops. */
MUST_CHECK int group_walk_list(const struct view_query *query, uint64_t node, uint64_t after,
			       view_emit_fn *emit, void *context);

#endif
