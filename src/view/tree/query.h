/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_QUERY_H
#define VIEW_TREE_QUERY_H

/* What the files of this folder share: a query, and the functions that answer it for each kind of
 * node.
 *
 * A query is a snapshot of the catalog, with errors translated for a system call. It begins and
 * ends in the same thread and scope. */

#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "index/catalog.h"
#include "index/record.h"
#include "index/scan.h"
#include "view/tree/caches.h"
#include "view/tree/names.h"
#include "view/tree/node.h"
#include "view/tree/view.h"

struct view_query {
	struct view *view; /* borrowed, as are caller and cancellation */
	const struct caller *caller; /* NULL: everything is visible */
	const struct cancellation *cancellation; /* as in struct view_call */
	struct catalog_reader *reader; /* NULL: the snapshot has ended */
};

static inline int query_begin_for(struct view_query *query, const struct view_call *call)
{
	query->view = call->view;
	query->caller = call->caller;
	query->cancellation = call->cancellation;
	return catalog_read_begin(call->view->catalog, &query->reader);
}

/* Begins a query without a caller. */
static inline int query_begin(struct view_query *query, struct view *view)
{
	return query_begin_for(query, &(struct view_call){.view = view});
}

/* Ends the snapshot. Can be called twice. */
static inline void query_end(struct view_query *query)
{
	catalog_read_end(TAKE(query->reader));
}
#define CLEANUP_QUERY CLEANUP(query_end)

/* Converts the result of a lookup of a record that another record refers to. If the record is
 * missing, returns -EUCLEAN, as the index is damaged. */
static inline int expect_record(int result)
{
	return result == -ENOENT || result == -ESTALE ? -EUCLEAN : result;
}

/* Converts -EUCLEAN (damaged record) and -ENODEV (missing source) to -EIO, as neither concerns a
 * particular file of the source. Reports a damaged record to the catalog. */
static inline int query_error(struct view *view, int result)
{
	if (result == -EUCLEAN)
		catalog_distrust(view->catalog);
	return result == -EUCLEAN || result == -ENODEV ? -EIO : result;
}

/* ---- nodes -------------------------------------------------------------------------- */

/* Operations of each kind of node; view.c selects them by the kind.
 *
 * Each call runs in one snapshot. Failures are -errno: -ESTALE if the node itself no longer exists,
 * -ENOENT if a name in it does not exist. */

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
extern const struct node_ops link_ops; /* ranks.c: links in by-size/ and its folders */
extern const struct node_ops equals_ops; /* group.c: folders of groups in folders/ */

/* The ranked directories. */
extern const struct ranked by_size_ranked; /* ranks.c */
extern const struct ranked folders_ranked; /* group.c */

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

/* For view_find_file(). */
MUST_CHECK int tree_find_file(const struct view_query *query, uint64_t node,
			      struct file_place *place);

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

/* ---- ranks -------------------------------------------------------------------------- */

/* Ranked directories: by-size/ and folders/. Each has one name for each group, in the order of
 * reclaimable bytes, or folders of such names (view/tree/names.h). What a name refers to belongs to
 * the group, independent of its rank. So an outdated name still leads to the group of the name, or
 * to nothing. */

/* The order of the groups of a ranked directory in a snapshot. */
struct rank_order {
	uint64_t groups; /* number of groups */
	uint64_t order; /* see ranking_scan() */
	struct ranking *ranking;
};

/* A ranked directory. */
struct ranked {
	const char *path; /* in the view */
	uint64_t node;
	enum node_kind part; /* kind of the folders in it */
	struct rank_order (*order)(struct view *view, const struct catalog_totals *totals);
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

/* ---- files of .twinfs/ -------------------------------------------------------------- */

/* Content of README.txt and of the files in .twinfs/, these from one snapshot of the catalog. Each
 * function appends to content and returns 0 or -errno. Any thread. */

/* status.json: one object. */
MUST_CHECK int control_status(const struct view_query *query, struct bytes *content);

/* errors: a line with a JSON object for each file or directory that could not be read. */
MUST_CHECK int control_errors(const struct view_query *query, struct bytes *content);

/* pending: a line with a JSON object for each file that waits for comparison. */
MUST_CHECK int control_pending(const struct view_query *query, struct bytes *content);

/* metrics: Prometheus' text format, version 0.0.4. */
MUST_CHECK int control_metrics(const struct view_query *query, struct bytes *content);

/* sync: the number of the last commit in the snapshot. */
MUST_CHECK int control_sync(const struct view_query *query, struct bytes *content);

/* README.txt: what the folders of a view are, for a person. */
extern const char control_readme[];

#endif
