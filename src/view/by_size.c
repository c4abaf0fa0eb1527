/* SPDX-License-Identifier: MIT */

/* by-size/: links to the folders in dups/, ordered by reclaimable bytes.
 *
 * The name of a link contains the current rank of a group. The node of a link belongs to the group,
 * independent of its rank. So a link whose name is outdated still leads to the group of the name,
 * or to nothing. */

#include <errno.h>
#include <string.h>

#include "base/group_name.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "view/node.h"
#include "view/node_ops.h"
#include "view/rank_name.h"
#include "view/ranking.h"
#include "view/stat.h"

/* by-size/ in one snapshot. */
struct layout {
	const struct view_query *query;
	struct catalog_totals totals;
	struct rank_layout ranks;
};

static int layout_init(struct layout *layout, const struct view_query *query)
{
	int r = catalog_get_totals(query->reader, &layout->totals);

	if (r < 0)
		return expect_record(r);
	layout->query = query;
	layout->ranks = rank_layout_of(layout->totals.groups);
	(void)ranking_max_folders(&query->view->ranking, layout->ranks.folders);
	return 0;
}

/* ---- links --------------------------------------------------------------------------- */

/* Links inside a folder are one level deeper. */
static int append_target(struct bytes *target, uint64_t node, const struct group_record *group)
{
	char name[GROUP_NAME_SIZE];

	group_name_make(name, group->hash, group->ordinal);
	return bytes_format(target, "%s../dups/%s", node_kind(node) == NODE_DEEP_LINK ? "../" : "",
			    name);
}

/* The attributes of a link never change, as its target never changes. */
static int fill_link(const struct view_query *query, struct stat *attributes, uint64_t node,
		     const struct group_record *group)
{
	CLEANUP_BYTES struct bytes target = {0};
	int r = append_target(&target, node, group);

	stat_set_symlink(attributes, node, target.length, query->view->since);
	return r;
}

static int get_group(const struct view_query *query, uint64_t node, struct group_record *group)
{
	int r = catalog_get_group(query->reader, node_id(node), group);

	return r == 0 && !group_is_visible(group) ? -ENOENT : r;
}

static int link_getattr(const struct view_query *query, uint64_t node, struct stat *attributes)
{
	struct group_record group;
	int r = get_group(query, node, &group);

	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	return fill_link(query, attributes, node, &group);
}

int by_size_target(const struct view_query *query, uint64_t node, struct bytes *target)
{
	struct group_record group;
	int r = get_group(query, node, &group);

	return r < 0 ? r : append_target(target, node, &group);
}

const struct node_ops link_ops = {
	.getattr = link_getattr,
};

/* ---- names --------------------------------------------------------------------------- */

static int make_name(const struct layout *layout, uint64_t rank, const struct group_record *group,
		     char name[static RANK_NAME_SIZE])
{
	struct catalog_reader *reader = layout->query->reader;
	struct entry_record entry;
	struct file_record file;
	int r = catalog_get_file(reader, group->kept, &file);

	if (r == 0)
		r = catalog_entry_at(reader, file.dir, file.cookie, &entry);
	if (r == 0)
		rank_name_make(name, &layout->ranks, rank, group, entry.name);
	return expect_record(r);
}

/* Starts a walk over groups at this rank. */
static int scan_ranks(const struct layout *layout, uint64_t rank, struct catalog_scan **scan)
{
	return ranking_scan(&layout->query->view->ranking, layout->query->reader, &layout->totals,
			    rank, scan);
}

/* Looks up a link whose rank is in [first, last]. */
static int find_link(const struct layout *layout, uint64_t first, uint64_t last, const char *name,
		     struct stat *attributes)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	enum node_kind kind = layout->ranks.folders ? NODE_DEEP_LINK : NODE_LINK;
	uint64_t rank = rank_name_parse(name);
	struct group_record group = {0};
	char made[RANK_NAME_SIZE];
	int r;

	if (rank < first || rank > last || rank > layout->ranks.groups)
		return -ENOENT;
	r = scan_ranks(layout, rank, &scan);
	if (r == 0)
		r = expect_record(catalog_next_rank(scan, &group));
	if (r == 0)
		r = make_name(layout, rank, &group, made);
	if (r < 0)
		return r;
	if (strcmp(made, name) != 0)
		return -ENOENT;
	return fill_link(layout->query, attributes, node_make(kind, group.id), &group);
}

/* Emits links of ranks [first, last]. */
static int list_links(const struct layout *layout, uint64_t first, uint64_t last,
		      view_emit_fn *emit, void *context)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	enum node_kind kind = layout->ranks.folders ? NODE_DEEP_LINK : NODE_LINK;
	char name[RANK_NAME_SIZE];
	struct view_entry entry = {.name = name, .known = true};
	struct group_record group;
	int r;

	if (last > layout->ranks.groups)
		last = layout->ranks.groups;
	if (first > last)
		return 0;
	r = scan_ranks(layout, first, &scan);
	for (uint64_t rank = first; r == 0 && rank <= last; rank++) {
		r = expect_record(catalog_next_rank(scan, &group));
		if (r == 0)
			r = make_name(layout, rank, &group, name);
		if (r == 0)
			r = fill_link(layout->query, &entry.attributes, node_make(kind, group.id),
				      &group);
		entry.cookie = VIEW_COOKIE_MIN + rank;
		if (r == 0 && !emit(&entry, context))
			break;
	}
	return r;
}

static uint64_t rank_after(uint64_t after)
{
	return after > VIEW_COOKIE_MIN ? after - VIEW_COOKIE_MIN + 1 : 1;
}

/* ---- by-size/ itself ----------------------------------------------------------------- */

static void fill_folder(const struct layout *layout, uint64_t folder, struct stat *attributes)
{
	stat_set_directory(attributes, node_make(NODE_RANKS, folder), layout->totals.changed);
}

int by_size_lookup(const struct view_query *query, const char *name, struct stat *attributes)
{
	char made[RANK_NAME_SIZE];
	struct layout layout;
	uint64_t folder;
	int r = layout_init(&layout, query);

	if (r < 0)
		return r;
	if (!layout.ranks.folders)
		return find_link(&layout, 1, layout.ranks.groups, name, attributes);
	folder = rank_name_parse(name) / RANKS_PER_FOLDER + 1;
	if (folder > layout.ranks.folders)
		return -ENOENT;
	rank_folder_name_make(made, &layout.ranks, folder);
	if (strcmp(made, name) != 0)
		return -ENOENT;
	fill_folder(&layout, folder, attributes);
	return 0;
}

int by_size_list(const struct view_query *query, uint64_t after, view_emit_fn *emit, void *context)
{
	char name[RANK_NAME_SIZE];
	struct view_entry entry = {.name = name, .known = true};
	struct layout layout;
	int r = layout_init(&layout, query);

	if (r < 0)
		return r;
	if (!layout.ranks.folders)
		return list_links(&layout, rank_after(after), layout.ranks.groups, emit, context);
	for (uint64_t folder = rank_after(after); folder <= layout.ranks.folders; folder++) {
		rank_folder_name_make(name, &layout.ranks, folder);
		fill_folder(&layout, folder, &entry.attributes);
		entry.cookie = VIEW_COOKIE_MIN + folder;
		if (!emit(&entry, context))
			break;
	}
	return 0;
}

/* ---- folders of ranks ---------------------------------------------------------------- */

/* Initialises the layout. Returns -ESTALE if the folder does not exist. */
static int folder_init(struct layout *layout, const struct view_query *query, uint64_t node)
{
	int r = layout_init(layout, query);

	if (r == 0 && (node_id(node) == 0 || node_id(node) > layout->ranks.folders))
		r = -ESTALE;
	return r;
}

static int ranks_getattr(const struct view_query *query, uint64_t node, struct stat *attributes)
{
	struct layout layout;
	int r = folder_init(&layout, query, node);

	if (r == 0)
		fill_folder(&layout, node_id(node), attributes);
	return r;
}

static int ranks_lookup(const struct view_query *query, uint64_t node, const char *name,
			struct stat *attributes)
{
	uint64_t folder = node_id(node);
	struct layout layout;
	int r = folder_init(&layout, query, node);

	if (r < 0)
		return r;
	return find_link(&layout, rank_folder_first(folder), rank_folder_last(folder), name,
			 attributes);
}

static int ranks_list_begin(const struct view_query *query, uint64_t node, uint64_t *parent)
{
	struct layout layout;

	*parent = FIXED_BY_SIZE;
	return folder_init(&layout, query, node);
}

static int ranks_list(const struct view_query *query, uint64_t node, uint64_t after,
		      view_emit_fn *emit, void *context)
{
	uint64_t first = rank_folder_first(node_id(node));
	struct layout layout;
	int r = folder_init(&layout, query, node);

	if (r < 0)
		return r;
	if (after)
		first = rank_after(after);
	return list_links(&layout, first, rank_folder_last(node_id(node)), emit, context);
}

static int ranks_path(const struct view_query *query, uint64_t node, struct bytes *path)
{
	char name[RANK_NAME_SIZE];
	struct layout layout;
	int r = folder_init(&layout, query, node);

	if (r < 0)
		return r;
	rank_folder_name_make(name, &layout.ranks, node_id(node));
	return bytes_format(path, "by-size/%s", name);
}

const struct node_ops ranks_ops = {
	.path = ranks_path,
	.getattr = ranks_getattr,
	.lookup = ranks_lookup,
	.list_begin = ranks_list_begin,
	.list = ranks_list,
};
