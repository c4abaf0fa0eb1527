/* SPDX-License-Identifier: MIT */
#ifndef VIEW_RANKS_H
#define VIEW_RANKS_H

/* Ranked directories: by-size/ and folders/. Each has one name for each group, in the order of
 * reclaimable bytes, or folders of such names (view/rank_name.h). What a name refers to belongs to
 * the group, independent of its rank. So an outdated name still leads to the group of the name, or
 * to nothing.
 *
 * The functions are operations of nodes (view/node_ops.h). */

#include <stdint.h>
#include <sys/stat.h>

#include "catalog/catalog.h"
#include "catalog/scan.h"
#include "view/node.h"
#include "view/query.h"
#include "view/rank_name.h"
#include "view/ranking.h"
#include "view/view.h"

/* A ranked directory. */
struct ranked {
	const char *path; /* in the view */
	uint64_t node;
	enum node_kind part; /* kind of the folders in it */
	uint64_t (*groups)(const struct catalog_totals *totals); /* number of groups */
	uint64_t (*order)(const struct catalog_totals *totals); /* see ranking_scan() */
	struct ranking *(*ranking)(struct view *view);
	/* Fills in what the name says of a group, except its rank, and the attributes of the node
	 * that the name refers to. deep: the name is in a folder of ranks. Returns 0 or -errno. */
	int (*describe)(const struct view_query *query, uint64_t id, bool deep,
			struct ranked_group *group, struct stat *attributes);
};

/* Returns the ranked directory that a node is or is in. node_is_ranked() must hold. */
const struct ranked *ranked_of(uint64_t node);

/* Operations of the directory itself. */
MUST_CHECK int ranked_lookup(const struct view_query *query, const struct ranked *ranked,
			     const char *name, struct stat *attributes);
MUST_CHECK int ranked_list(const struct view_query *query, const struct ranked *ranked,
			   uint64_t after, view_emit_fn *emit, void *context);

/* Appends the path of the name of a group. Linear in the rank. Returns 0, -ESTALE if the group has
 * no rank, or another -errno. */
MUST_CHECK int ranked_append_path(const struct view_query *query, const struct ranked *ranked,
				  const struct rank_entry *group, struct bytes *path);

/* Returns the largest number of folders of ranks that the directory ever had, for these totals. */
uint64_t ranked_folders(struct view *view, const struct ranked *ranked,
			const struct catalog_totals *totals);

#endif
