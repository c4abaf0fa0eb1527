/* SPDX-License-Identifier: MIT */
#include "view/tree/ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"
#include "index/query.h"
#include "view/tree/node.h"
#include "view/tree/node_ops.h"
#include "view/tree/stat.h"

/* ---- names --------------------------------------------------------------------------- */

#define DIGITS_FLAT 4
#define DIGITS_IN_FOLDERS 5

struct rank_layout rank_layout_of(uint64_t groups)
{
	struct rank_layout layout = {.groups = groups, .digits = DIGITS_FLAT};

	if (groups <= RANKS_PER_FOLDER)
		return layout;
	layout.folders = (groups + RANKS_PER_FOLDER - 1) / RANKS_PER_FOLDER;
	layout.digits = 1;
	for (uint64_t rest = rank_folder_last(layout.folders); rest >= 10; rest /= 10)
		layout.digits++;
	if (layout.digits < DIGITS_IN_FOLDERS)
		layout.digits = DIGITS_IN_FOLDERS;
	return layout;
}

void rank_folder_name_make(char name[static RANK_NAME_SIZE], const struct rank_layout *layout,
			   uint64_t folder)
{
	(void)snprintf(name, RANK_NAME_SIZE, "%0*" PRIu64 "-%0*" PRIu64, layout->digits,
		       rank_folder_first(folder), layout->digits, rank_folder_last(folder));
}

#define NO_BREAK "\xc2\xa0"

/* Room for two numbers, the words around them, and a NUL. */
#define FIGURES_SIZE 96

/* Writes what follows the name of the copy. */
static size_t write_figures(char text[static FIGURES_SIZE], const struct ranked_group *group)
{
	char size[SIZE_TEXT_MAX];
	size_t number = strcspn(size_format(size, group->reclaimable), " ");

	return (size_t)snprintf(text, FIGURES_SIZE,
				" (%" PRIu64 NO_BREAK "copies, frees" NO_BREAK "%.*s" NO_BREAK
				"%s)",
				group->copies, (int)number, size, size + number + 1);
}

void rank_name_make(char name[static RANK_NAME_SIZE], const struct rank_layout *layout,
		    const struct ranked_group *group)
{
	char figures[FIGURES_SIZE];
	size_t length = write_figures(figures, group);
	size_t used = (size_t)snprintf(name, RANK_NAME_SIZE, "%0*" PRIu64 " ", layout->digits,
				       group->rank);
	size_t shown =
		utf8_cut(group->name.bytes, group->name.length, NAME_BYTES_MAX - used - length);

	memcpy(name + used, group->name.bytes, shown);
	memcpy(name + used + shown, figures, length + 1);
}

uint64_t rank_name_parse(const char *name)
{
	uint64_t number;

	return number_read(name, strspn(name, "0123456789"), &number) < 0 ? 0 : number;
}

/* ---- ranks --------------------------------------------------------------------------- */

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

	return ranking_max_folders(order.ranking, rank_layout_of(order.groups).folders);
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
	(void)ranking_max_folders(layout->order.ranking, layout->ranks.folders);
	return 0;
}

/* ---- names --------------------------------------------------------------------------- */

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

/* ---- the directory itself ------------------------------------------------------------ */

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

/* ---- folders of ranks ---------------------------------------------------------------- */

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
