/* SPDX-License-Identifier: MIT */

/* folders/: the groups of equal folders, ordered by reclaimable bytes (ranks.c). The folder of a
 * group has the equal folders, under the names that copies have in dups/ (names.h). */

#include <errno.h>
#include <string.h>

#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"
#include "view/tree/names.h"
#include "view/tree/node.h"
#include "view/tree/query.h"

/* The cookie in the name of a source's root, which no entry has. */
#define ROOT_COOKIE 1

int equals_get(const struct view_query *query, uint64_t id, struct folder_group *group)
{
	int r = catalog_get_folder_group(query->reader, id, group);

	return r == -ENOENT || (r == 0 && group->ranked == 0) ? -ESTALE : r;
}

static void fill_group(const struct view_query *query, uint64_t id, struct stat *attributes)
{
	struct view *view = query->view;
	uint64_t node = node_make(NODE_EQUALS, id);

	stat_set_directory(attributes, node, listing_times_latest(&view->times, node, view->since));
}

/* ---- folders/ itself ---------------------------------------------------------------- */

static int name_of(const struct view_query *query, const struct dir_record *dir, struct name *name)
{
	const struct sources *sources = query->view->sources;

	*name = dir->name;
	if (dir->parent)
		return 0;
	if (dir->source >= sources->count)
		return -EUCLEAN;
	name->bytes = sources->list[dir->source].tree;
	name->length = (uint32_t)strlen(name->bytes);
	return 0;
}

/* The name is that of the folder that the index has known for the longest time. */
static int describe(const struct view_query *query, uint64_t id, bool deep,
		    struct ranked_group *ranked, struct stat *attributes)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct folder_group group = {0};
	struct dir_record dir = {0};
	int r = catalog_get_folder_group(query->reader, id, &group);

	(void)deep;
	if (r == 0)
		r = catalog_scan_folders(query->reader, &group, 0, &scan);
	if (r == 0)
		r = catalog_next_folder(scan, &dir.id);
	if (r == 0)
		r = catalog_get_dir(query->reader, dir.id, &dir);
	if (r < 0)
		return r;
	ranked->reclaimable = group.ranked;
	ranked->copies = group.folders;
	fill_group(query, id, attributes);
	return name_of(query, &dir, &ranked->name);
}

static struct rank_order order_of(struct view *view, const struct catalog_totals *totals)
{
	return (struct rank_order){totals->folder_groups, totals->folder_order,
				   &view->folder_ranking};
}

const struct ranked folders_ranked = {
	.path = "folders",
	.node = FIXED_FOLDERS,
	.part = NODE_FOLDER_RANKS,
	.order = order_of,
	.describe = describe,
};

/* ---- folders of groups -------------------------------------------------------------- */

static int equals_getattr(const struct view_query *query, uint64_t node, struct stat *attributes)
{
	struct folder_group group;
	int r = equals_get(query, node_id(node), &group);

	if (r == 0)
		fill_group(query, group.id, attributes);
	return r;
}

static void make_root_name(const struct source *source, char name[static COPY_NAME_SIZE])
{
	copy_name_make(name, source->tree, strlen(source->tree), source->root, ROOT_COOKIE);
}

static int make_name(const struct view_query *query, const struct dir_record *dir,
		     char name[static COPY_NAME_SIZE])
{
	const struct sources *sources = query->view->sources;
	struct entry_record entry;
	int r;

	if (dir->source >= sources->count)
		return -EUCLEAN;
	if (dir->parent == 0) {
		make_root_name(&sources->list[dir->source], name);
		return 0;
	}
	r = catalog_find_entry(query->reader, dir->parent, dir->name, &entry);
	return r < 0 ? expect_record(r) : group_copy_name(query, &entry, false, name);
}

/* Finds the directory of a name. It can be in another group. */
static int find_dir(const struct view_query *query, const char *name, uint64_t *dir)
{
	const struct sources *sources = query->view->sources;
	char root[COPY_NAME_SIZE];
	struct entry_record entry;
	int r;

	for (size_t i = 0; i < sources->count; i++) {
		make_root_name(&sources->list[i], root);
		if (sources->count > 1 && strcmp(root, name) == 0) {
			*dir = sources->list[i].root;
			return 0;
		}
	}
	r = group_find_copy(query, name, false, &entry);
	if (r < 0)
		return r;
	*dir = entry.child;
	return entry.kind == ENTRY_DIR ? 0 : -ENOENT;
}

static int equals_lookup(const struct view_query *query, uint64_t node, const char *name,
			 struct stat *attributes)
{
	struct folder_group group;
	uint64_t dir = 0, in = 0;
	int r = equals_get(query, node_id(node), &group);

	if (r == 0)
		r = find_dir(query, name, &dir);
	if (r == 0)
		r = catalog_find_folder_group(query->reader, dir, &in);
	if (r < 0)
		return r;
	if (in != group.id)
		return -ENOENT;
	return expect_record(tree_ops.getattr(query, node_make_folder(dir, 0), attributes));
}

static int equals_list_begin(const struct view_query *query, uint64_t node, uint64_t *parent)
{
	struct folder_group group;

	*parent = FIXED_FOLDERS;
	return equals_get(query, node_id(node), &group);
}

/* Outcome: the name did not fit. */
enum {
	NAME_FULL = 1
};

static int emit_dir(const struct view_query *query, uint64_t id, view_emit_fn *emit, void *context)
{
	char name[COPY_NAME_SIZE];
	struct view_entry entry = {
		.name = name,
		.cookie = listing_cookie(query->view->cookie_secret, id),
		.known = true,
	};
	struct dir_record dir;
	int r = catalog_get_dir(query->reader, id, &dir);

	if (r == 0)
		r = make_name(query, &dir, name);
	if (r == 0)
		r = tree_ops.getattr(query, node_make_folder(id, 0), &entry.attributes);
	if (r < 0)
		return expect_record(r);
	return emit(&entry, context) ? 0 : NAME_FULL;
}

static int equals_list(const struct view_query *query, uint64_t node, uint64_t after,
		       view_emit_fn *emit, void *context)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t dir, from = listing_id(query->view->cookie_secret, after);
	struct folder_group group;
	int r = equals_get(query, node_id(node), &group);

	if (r == 0)
		r = catalog_scan_folders(query->reader, &group, from, &scan);
	while (r == 0 && (r = catalog_next_folder(scan, &dir)) == 0)
		r = emit_dir(query, dir, emit, context);
	return r == -ENOENT || r == NAME_FULL ? 0 : r;
}

static int equals_path(const struct view_query *query, uint64_t node, struct bytes *path)
{
	struct rank_entry entry = {.group = node_id(node)};
	struct folder_group group;
	int r = equals_get(query, node_id(node), &group);

	if (r < 0)
		return r;
	entry.reclaimable = group.ranked;
	return ranked_append_path(query, &folders_ranked, &entry, path);
}

int equals_append_path(const struct view_query *query, uint64_t dir, struct bytes *path)
{
	char name[COPY_NAME_SIZE];
	struct dir_record record;
	uint64_t group = 0;
	int r = catalog_find_folder_group(query->reader, dir, &group);

	if (r == 0)
		r = catalog_get_dir(query->reader, dir, &record);
	if (r == 0)
		r = group ? equals_path(query, node_make(NODE_EQUALS, group), path) : -ESTALE;
	if (r == 0)
		r = make_name(query, &record, name);
	return r < 0 ? r : bytes_format(path, "/%s", name);
}

const struct node_ops equals_ops = {
	.path = equals_path,
	.getattr = equals_getattr,
	.lookup = equals_lookup,
	.list_begin = equals_list_begin,
	.list = equals_list,
};
