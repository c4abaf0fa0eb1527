/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_RANKS_H
#define VIEW_TREE_RANKS_H

/* Ranked directories: by-size/ and folders/. Each has one name for each group, in the order of
 * reclaimable bytes, or folders of such names (see names, below). What a name refers to belongs to
 * the group, independent of its rank. So an outdated name still leads to the group of the name, or
 * to nothing.
 *
 * The functions are operations of nodes (view/tree/node_ops.h). */

#include <stdint.h>
#include <sys/stat.h>

#include "index/catalog.h"
#include "index/record.h"
#include "index/scan.h"
#include "view/tree/node.h"
#include "view/tree/query.h"
#include "view/tree/ranking.h"
#include "view/tree/view.h"

/* ---- names --------------------------------------------------------------------------- */

/* Names in by-size/ and folders/. Pure code, any thread.
 *
 *	0001 holiday.mp4 (4 copies, frees 1.2 GiB)	a group
 *	00001-02000					a folder of such names, if there are many
 *
 * Each name begins with the rank of a group; rank 1 has the most reclaimable bytes. Ranks have a
 * fixed number of digits, so that programs that sort names show them in this order. The name of a
 * copy follows, truncated if the whole would be too long. It comes early, as file managers show
 * little of a long name. The spaces within "4 copies" and "frees 1.2 GiB" are no-break spaces
 * (U+00A0), so that a name that is shown in several lines is not broken there.
 */

/* Room for a name and its NUL. */
#define RANK_NAME_SIZE (NAME_BYTES_MAX + 1)

/* Maximum number of groups in one folder. File managers show this many without delay. */
#define RANKS_PER_FOLDER 2000

/* Layout of by-size/ or folders/ for a number of groups. */
struct rank_layout {
	uint64_t groups;
	uint64_t folders; /* 0: the names are in by-size/ or folders/ itself */
	int digits; /* number of digits of a rank */
};

struct rank_layout rank_layout_of(uint64_t groups);

/* The ranks in a folder, from 1 on: [first, last]. In the last folder, last can exceed the number
 * of groups. */
static inline uint64_t rank_folder_first(uint64_t folder)
{
	return (folder - 1) * RANKS_PER_FOLDER + 1;
}

static inline uint64_t rank_folder_last(uint64_t folder)
{
	return folder * RANKS_PER_FOLDER;
}

void rank_folder_name_make(char name[static RANK_NAME_SIZE], const struct rank_layout *layout,
			   uint64_t folder);

/* What a name says of a group. */
struct ranked_group {
	uint64_t rank;
	uint64_t reclaimable; /* bytes */
	uint64_t copies;
	struct name name; /* of one copy */
};

void rank_name_make(char name[static RANK_NAME_SIZE], const struct rank_layout *layout,
		    const struct ranked_group *group);

/* Returns the number at the beginning of a name, or 0 if there is none. The caller must make the
 * name of this number and compare both names. */
uint64_t rank_name_parse(const char *name);

/* ---- ranks --------------------------------------------------------------------------- */

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

#endif
