/* SPDX-License-Identifier: MIT */

/* by-size/: links to the folders in dups/, ordered by reclaimable bytes; and what all ranked
 * directories do. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "index/query.h"
#include "index/scan.h"
#include "view/tree/names.h"
#include "view/tree/node.h"
#include "view/tree/query.h"

/* ---- ranks -------------------------------------------------------------------------- */

const struct ranked *ranked_of(uint64_t node)
{
	bool folders = node == folders_ranked.node || node_kind(node) == folders_ranked.part;

	return folders ? &folders_ranked : &by_size_ranked;
}

/* A ranked directory in one snapshot. */
struct layout {
	const struct view_query *query;
	const struct ranked *ranked;
	struct catalog_totals totals;
	struct rank_order order;
	struct rank_layout ranks;
};

uint64_t ranked_folders(struct view *view, const struct ranked *ranked,
			const struct catalog_totals *totals)
{
	struct rank_order order = ranked->order(view, totals);

	return raise_most(&order.ranking->folders, rank_layout_of(order.groups).folders);
}

static int layout_init(struct layout *layout, const struct view_query *query,
		       const struct ranked *ranked)
{
	int r = catalog_get_totals(query->reader, &layout->totals);

	if (r < 0)
		return expect_record(r);
	layout->query = query;
	layout->ranked = ranked;
	layout->order = ranked->order(query->view, &layout->totals);
	layout->ranks = rank_layout_of(layout->order.groups);
	(void)raise_most(&layout->order.ranking->folders, layout->ranks.folders);
	return 0;
}

/* Starts a walk over groups at this rank. */
static int scan_ranks(const struct layout *layout, uint64_t rank, struct catalog_scan **scan)
{
	return ranking_scan(layout->order.ranking, layout->query->reader, layout->order.order, rank,
			    scan);
}

/* Writes the name of the next group, and fills in the attributes of its node. */
static int next_name(const struct layout *layout, struct catalog_scan *scan, uint64_t rank,
		     char name[static RANK_NAME_SIZE], struct stat *attributes)
{
	struct ranked_group group = {.rank = rank};
	struct rank_entry entry;
	int r = catalog_next_rank_entry(scan, &entry);

	if (r == 0)
		r = layout->ranked->describe(layout->query, entry.group, layout->ranks.folders > 0,
					     &group, attributes);
	if (r == 0)
		rank_name_make(name, &layout->ranks, &group);
	return expect_record(r);
}

/* Looks up a name whose rank is in [first, last]. */
static int find_name(const struct layout *layout, uint64_t first, uint64_t last, const char *name,
		     struct stat *attributes)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t rank = rank_name_parse(name);
	char made[RANK_NAME_SIZE];
	int r;

	if (rank < first || rank > last || rank > layout->ranks.groups)
		return -ENOENT;
	r = scan_ranks(layout, rank, &scan);
	if (r == 0)
		r = next_name(layout, scan, rank, made, attributes);
	if (r < 0)
		return r;
	return strcmp(made, name) == 0 ? 0 : -ENOENT;
}

/* Emits the names of ranks [first, last]. */
static int list_names(const struct layout *layout, uint64_t first, uint64_t last,
		      view_emit_fn *emit, void *context)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	char name[RANK_NAME_SIZE];
	struct view_entry entry = {.name = name, .known = true};
	int r;

	if (last > layout->ranks.groups)
		last = layout->ranks.groups;
	if (first > last)
		return 0;
	r = scan_ranks(layout, first, &scan);
	for (uint64_t rank = first; r == 0 && rank <= last; rank++) {
		r = next_name(layout, scan, rank, name, &entry.attributes);
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

/* ---- the directory itself ----------------------------------------------------------- */

static void fill_folder(const struct layout *layout, uint64_t folder, struct stat *attributes)
{
	stat_set_directory(attributes, node_make(layout->ranked->part, folder),
			   layout->totals.changed);
}

int ranked_lookup(const struct view_query *query, const struct ranked *ranked, const char *name,
		  struct stat *attributes)
{
	char made[RANK_NAME_SIZE];
	struct layout layout;
	uint64_t folder;
	int r = layout_init(&layout, query, ranked);

	if (r < 0)
		return r;
	if (!layout.ranks.folders)
		return find_name(&layout, 1, layout.ranks.groups, name, attributes);
	folder = rank_name_parse(name) / RANKS_PER_FOLDER + 1;
	if (folder > layout.ranks.folders)
		return -ENOENT;
	rank_folder_name_make(made, &layout.ranks, folder);
	if (strcmp(made, name) != 0)
		return -ENOENT;
	fill_folder(&layout, folder, attributes);
	return 0;
}

int ranked_list(const struct view_query *query, const struct ranked *ranked, uint64_t after,
		view_emit_fn *emit, void *context)
{
	char name[RANK_NAME_SIZE];
	struct view_entry entry = {.name = name, .known = true};
	struct layout layout;
	int r = layout_init(&layout, query, ranked);

	if (r < 0)
		return r;
	if (!layout.ranks.folders)
		return list_names(&layout, rank_after(after), layout.ranks.groups, emit, context);
	for (uint64_t folder = rank_after(after); folder <= layout.ranks.folders; folder++) {
		rank_folder_name_make(name, &layout.ranks, folder);
		fill_folder(&layout, folder, &entry.attributes);
		entry.cookie = VIEW_COOKIE_MIN + folder;
		if (!emit(&entry, context))
			break;
	}
	return 0;
}

/* Finds the rank of a group. */
static int find_rank(const struct layout *layout, const struct rank_entry *group, uint64_t *rank)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct rank_entry entry = {0};
	int r = layout->ranks.groups == 0 ? -ENOENT : scan_ranks(layout, 1, &scan);

	*rank = 0;
	while (r == 0 && entry.group != group->group) {
		r = catalog_next_rank_entry(scan, &entry);
		++*rank;
	}
	return r == -ENOENT ? -ESTALE : r;
}

int ranked_append_path(const struct view_query *query, const struct ranked *ranked,
		       const struct rank_entry *group, struct bytes *path)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	char name[RANK_NAME_SIZE], folder[RANK_NAME_SIZE] = "";
	struct stat attributes;
	struct layout layout;
	uint64_t rank = 0;
	int r = layout_init(&layout, query, ranked);

	if (r == 0)
		r = find_rank(&layout, group, &rank);
	if (r == 0)
		r = scan_ranks(&layout, rank, &scan);
	if (r == 0)
		r = next_name(&layout, scan, rank, name, &attributes);
	if (r < 0)
		return r;
	if (layout.ranks.folders)
		rank_folder_name_make(folder, &layout.ranks, (rank - 1) / RANKS_PER_FOLDER + 1);
	return bytes_format(path, "%s/%s%s%s", ranked->path, folder, *folder ? "/" : "", name);
}

/* ---- folders of ranks --------------------------------------------------------------- */

/* Initialises the layout. Returns -ESTALE if the folder does not exist. */
static int folder_init(struct layout *layout, const struct view_query *query, uint64_t node)
{
	int r = layout_init(layout, query, ranked_of(node));

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
	return find_name(&layout, rank_folder_first(folder), rank_folder_last(folder), name,
			 attributes);
}

static int ranks_list_begin(const struct view_query *query, uint64_t node, uint64_t *parent)
{
	struct layout layout;

	*parent = ranked_of(node)->node;
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
	return list_names(&layout, first, rank_folder_last(node_id(node)), emit, context);
}

static int ranks_path(const struct view_query *query, uint64_t node, struct bytes *path)
{
	char name[RANK_NAME_SIZE];
	struct layout layout;
	int r = folder_init(&layout, query, node);

	if (r < 0)
		return r;
	rank_folder_name_make(name, &layout.ranks, node_id(node));
	return bytes_format(path, "%s/%s", layout.ranked->path, name);
}

const struct node_ops ranks_ops = {
	.path = ranks_path,
	.getattr = ranks_getattr,
	.lookup = ranks_lookup,
	.list_begin = ranks_list_begin,
	.list = ranks_list,
};

/* ---- by-size/: links ---------------------------------------------------------------- */

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

/* ---- by-size/: the groups ----------------------------------------------------------- */

static int describe_group(const struct view_query *query, uint64_t id, bool deep,
			  struct ranked_group *ranked, struct stat *attributes)
{
	struct group_record group = {0};
	struct entry_record entry;
	struct file_record file;
	int r = catalog_get_group(query->reader, id, &group);

	if (r == 0)
		r = catalog_get_file(query->reader, group.kept, &file);
	if (r == 0)
		r = catalog_entry_at(query->reader, file.dir, file.cookie, &entry);
	if (r < 0)
		return r;
	ranked->reclaimable = group_reclaimable(&group);
	ranked->copies = group.inodes;
	ranked->name = entry.name;
	return fill_link(query, attributes, node_make(deep ? NODE_DEEP_LINK : NODE_LINK, id),
			 &group);
}

static struct rank_order order_of(struct view *view, const struct catalog_totals *totals)
{
	return (struct rank_order){totals->groups, totals->order, &view->ranking};
}

const struct ranked by_size_ranked = {
	.path = "by-size",
	.node = FIXED_BY_SIZE,
	.part = NODE_RANKS,
	.order = order_of,
	.describe = describe_group,
};
