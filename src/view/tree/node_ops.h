/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_NODE_OPS_H
#define VIEW_TREE_NODE_OPS_H

/* Operations of each kind of node; view.c selects them by the kind.
 *
 * Each call runs in one snapshot. Failures are -errno: -ESTALE if the node itself no longer exists,
 * -ENOENT if a name in it does not exist. */

#include <stdint.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "index/record.h"
#include "view/tree/copy_name.h"
#include "view/tree/node.h"
#include "view/tree/query.h"
#include "view/tree/ranks.h"
#include "view/tree/view.h"

struct node_ops {
	int (*getattr)(const struct view_query *query, uint64_t node, struct stat *attributes);
	/* lookup, path, list_begin and list are NULL if such a node is never a directory */
	int (*lookup)(const struct view_query *query, uint64_t node, const char *name,
		      struct stat *attributes);
	/* Appends the path of the node, like view_path(). */
	int (*path)(const struct view_query *query, uint64_t node, struct bytes *path);
	/* Checks that the node can be listed; fills in the node of "..". */
	int (*list_begin)(const struct view_query *query, uint64_t node, uint64_t *parent);
	/* after: 0 or the cookie of a name other than "." and ".." */
	int (*list)(const struct view_query *query, uint64_t node, uint64_t after,
		    view_emit_fn *emit, void *context);
};

extern const struct node_ops fixed_ops; /* fixed.c: nodes that every view has */
extern const struct node_ops tree_ops; /* tree.c: directories of the sources */
extern const struct node_ops group_ops; /* group.c: folders in dups/ */
extern const struct node_ops file_ops; /* tree.c: files of the sources */
extern const struct node_ops ranks_ops; /* ranks.c: folders in by-size/ and folders/ */
extern const struct node_ops link_ops; /* by_size.c: links in by-size/ and its folders */

extern const struct node_ops equals_ops; /* equals.c: folders of groups in folders/ */

/* The ranked directories. */
extern const struct ranked by_size_ranked; /* by_size.c */
extern const struct ranked folders_ranked; /* equals.c */

/* Returns the node of the directory that contains a directory of a source.
 *
 * tree	NODE_DIR or NODE_REDUNDANT */
uint64_t tree_parent(const struct sources *sources, const struct dir_record *dir,
		     enum node_kind tree);

/* Returns the node that contains a directory in folders/; FIXED_FOLDERS if the directory is not in
 * a group any more.
 *
 * depth	of the directory */
uint64_t folder_parent(const struct view_query *query, const struct dir_record *dir,
		       uint64_t depth);

/* Gets a group of equal folders that has a rank. Returns 0, -ESTALE or another -errno. */
MUST_CHECK int equals_get(const struct view_query *query, uint64_t id, struct folder_group *group);

/* Appends the path in folders/ of an equal folder. Returns 0, -ESTALE if the directory is not in a
 * group with a rank, or another -errno. */
MUST_CHECK int equals_append_path(const struct view_query *query, uint64_t dir, struct bytes *path);

/* Gets the record of the file of a node. Returns 0, -ESTALE if the index has another content of the
 * file, or another -errno. */
MUST_CHECK int file_get_version(const struct view_query *query, uint64_t node,
				struct file_record *file);

/* Gets the record of the group of a folder in dups/, as the caller sees it. Returns 0, -ESTALE if
 * the group no longer exists or is hidden from the caller, or another -errno. */
MUST_CHECK int group_get_visible(const struct view_query *query, uint64_t node,
				 struct group_record *group);

/* dups/ itself, for fixed.c. */
MUST_CHECK int groups_lookup(const struct view_query *query, const char *name,
			     struct stat *attributes);
MUST_CHECK int groups_list(const struct view_query *query, uint64_t after, view_emit_fn *emit,
			   void *context);

/* Writes the name of an entry in the folder of its group. kept: with the mark of the kept copy.
 * Returns 0 or -errno. */
MUST_CHECK int group_copy_name(const struct view_query *query, const struct entry_record *entry,
			       bool kept, char name[static COPY_NAME_SIZE]);

/* Finds the entry of a copy's name without the mark. The file can be in another group; it can be a
 * directory. kept: the name is that after the mark. Returns 0, -ENOENT or another -errno. */
MUST_CHECK int group_find_copy(const struct view_query *query, const char *name, bool kept,
			       struct entry_record *entry);

/* Appends the target of a link, for content.c. Returns 0, -ENOENT if the group does not exist, or
 * another -errno. */
MUST_CHECK int by_size_target(const struct view_query *query, uint64_t node, struct bytes *target);

/* Appends the absolute path of a directory of a source, or of a file by its first name. Returns 0,
 * -ENOENT if the node no longer exists, or another -errno. */
MUST_CHECK int source_path_of(const struct view_query *query, uint64_t node, struct bytes *path);

/* Like source_path_of, for the caller of a query, who can reach the node. Of a file with several
 * names, appends the preferred one by which the caller finds it (view/tree/access.h). Returns
 * -ENODATA if there is no such name. */
MUST_CHECK int source_path_for(const struct view_query *query, uint64_t node, struct bytes *path);

#endif
