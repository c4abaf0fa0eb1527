/* SPDX-License-Identifier: MIT */
#ifndef VIEW_NODE_OPS_H
#define VIEW_NODE_OPS_H

/* What the parts of the view offer to view.c, which picks one by the kind of a node.
 *
 * Each call runs in one snapshot. Failures are -errno; -ESTALE where the node itself is gone,
 * -ENOENT where a name in it is not there. */

#include <stdint.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "view/query.h"
#include "view/view.h"

struct node_ops {
	int (*getattr)(const struct view_query *query, uint64_t node, struct stat *attributes);
	/* NULL where the node may never be a directory */
	int (*lookup)(const struct view_query *query, uint64_t node, const char *name,
		      struct stat *attributes);
	/* Appends where it is, as view_path. */
	int (*path)(const struct view_query *query, uint64_t node, struct bytes *path);
	/* Checks that it can be listed, and gives the node of "..". */
	int (*list_begin)(const struct view_query *query, uint64_t node, uint64_t *parent);
	/* after: 0 or the cookie of a name, not of "." and ".." */
	int (*list)(const struct view_query *query, uint64_t node, uint64_t after,
		    view_emit_fn *emit, void *context);
};

extern const struct node_ops fixed_ops; /* fixed.c: what every view has */
extern const struct node_ops tree_ops; /* tree.c: directories of the sources */
extern const struct node_ops group_ops; /* group.c: folders in dups/ */
extern const struct node_ops file_ops; /* tree.c: files of the sources */
extern const struct node_ops ranks_ops; /* by_size.c: folders in by-size/ */
extern const struct node_ops link_ops; /* by_size.c: links in by-size/ and its folders */

/* dups/ itself, for fixed.c. */
MUST_CHECK int groups_lookup(const struct view_query *query, const char *name,
			     struct stat *attributes);
MUST_CHECK int groups_list(const struct view_query *query, uint64_t after, view_emit_fn *emit,
			   void *context);

/* by-size/ itself, for fixed.c. */
MUST_CHECK int by_size_lookup(const struct view_query *query, const char *name,
			      struct stat *attributes);
MUST_CHECK int by_size_list(const struct view_query *query, uint64_t after, view_emit_fn *emit,
			    void *context);

/* Appends where a link leads, for content.c. -ENOENT: the group is gone. */
MUST_CHECK int by_size_target(const struct view_query *query, uint64_t node, struct bytes *target);

#endif
