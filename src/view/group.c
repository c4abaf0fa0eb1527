/* SPDX-License-Identifier: MIT */

/* dups/ and its folders: the verified groups and the names of their copies. */

#include <errno.h>
#include <string.h>

#include "catalog/group_name.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "source/source.h"
#include "view/copy_name.h"
#include "view/listing_cookie.h"
#include "view/node.h"
#include "view/node_ops.h"
#include "view/stat.h"
#include "view/visible_copies.h"

/* ---- dups/ --------------------------------------------------------------------------- */

static void fill_group(struct stat *attributes, const struct group_record *group)
{
	stat_set_directory(attributes, node_make(NODE_GROUP, group->id), group->changed);
}

int groups_lookup(const struct view_query *query, const char *name, struct stat *attributes)
{
	struct group_record group;
	struct hash128 hash;
	uint32_t ordinal;
	int r;

	if (!group_name_parse(name, &hash, &ordinal))
		return -ENOENT;
	r = visible_find_group(query, hash, ordinal, &group);
	if (r < 0)
		return r;
	if (!group_is_visible(&group))
		return -ENOENT;
	fill_group(attributes, &group);
	return 0;
}

int groups_list(const struct view_query *query, uint64_t after, view_emit_fn *emit, void *context)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct group_record group;
	uint64_t secret = query->view->cookie_secret;
	int r = catalog_scan_groups(query->reader, listing_id(secret, after), &scan);

	while (r == 0 && (r = catalog_next_group(scan, &group)) == 0) {
		char name[GROUP_NAME_SIZE];
		struct view_entry entry = {
			.name = name,
			.cookie = listing_cookie(secret, group.id),
			.known = true,
		};

		r = visible_group(query, &group);
		if (r < 0)
			break;
		if (!group_is_visible(&group))
			continue;
		group_name_make(name, group.hash, group.ordinal);
		fill_group(&entry.attributes, &group);
		if (!emit(&entry, context))
			break;
	}
	return r == -ENOENT ? 0 : r;
}

/* ---- folders of groups --------------------------------------------------------------- */

int group_get_visible(const struct view_query *query, uint64_t node, struct group_record *group)
{
	int r = catalog_get_group(query->reader, node_id(node), group);

	if (r == 0)
		r = visible_group(query, group);
	if (r == -ENOENT || (r == 0 && !group_is_visible(group)))
		return -ESTALE;
	return r;
}

static int group_getattr(const struct view_query *query, uint64_t node, struct stat *attributes)
{
	struct group_record group;
	int r = group_get_visible(query, node, &group);

	if (r == 0)
		fill_group(attributes, &group);
	return r;
}

/* Returns the source of a path in uniques/, and advances the path past the name of the tree. */
static const struct source *find_source(const struct sources *sources, const char **path)
{
	size_t length = strcspn(*path, "/");

	if (sources->count == 1)
		return &sources->list[0];
	for (size_t i = 0; i < sources->count; i++) {
		const char *tree = sources->list[i].tree;

		if (strlen(tree) == length && memcmp(tree, *path, length) == 0) {
			*path += length + ((*path)[length] == '/');
			return &sources->list[i];
		}
	}
	return NULL;
}

int group_find_copy(const struct view_query *query, const char *name, bool kept,
		    struct entry_record *entry)
{
	char path[COPY_NAME_SIZE], made[COPY_NAME_SIZE];
	const struct source *source;
	const char *relative = path;
	uint64_t dir, cookie;
	int r;

	if (!copy_name_parse_short(name, &dir, &cookie)) {
		if (copy_name_skip_mark(name))
			return -ENOENT; /* such a path has a short form */
		(void)copy_name_parse_plain(name, path);
		source = find_source(query->view->sources, &relative);
		return source ? catalog_find_path(query->reader, source->root, relative, entry)
			      : -ENOENT;
	}
	r = catalog_entry_at(query->reader, dir, cookie, entry);
	if (r == 0 && !kept) {
		r = group_copy_name(query, entry, false, made);
		if (r < 0 || strcmp(made, name) == 0)
			return r;
	}
	/* with the mark, a long path has a short form that it does not have without it */
	if (r == 0)
		r = group_copy_name(query, entry, true, made);
	if (r < 0)
		return r;
	return strcmp(copy_name_skip_mark(made), name) == 0 ? 0 : -ENOENT;
}

/* Finds the entry of a name with the mark, which only the kept copy has. */
static int find_marked(const struct view_query *query, uint64_t node, const char *name,
		       struct entry_record *entry)
{
	struct group_record group;
	int r = group_find_copy(query, name, true, entry);

	if (r == 0)
		r = group_get_visible(query, node, &group);
	return r == 0 && entry->child != group.kept ? -ENOENT : r;
}

static int group_lookup(const struct view_query *query, uint64_t node, const char *name,
			struct stat *attributes)
{
	const char *marked = copy_name_skip_mark(name);
	struct entry_record entry;
	int r = marked ? find_marked(query, node, marked, &entry) : -ENOENT;

	if (r == -ENOENT)
		r = group_find_copy(query, name, false, &entry);
	if (r < 0)
		return r;
	if (entry.kind != ENTRY_FILE)
		return -ENOENT;
	r = visible_has_copy(query, node_id(node), &entry);
	if (r < 0)
		return r;
	return expect_record(
		file_ops.getattr(query, node_make(NODE_FILE, entry.child), attributes));
}

static int group_list_begin(const struct view_query *query, uint64_t node, uint64_t *parent)
{
	struct group_record group;

	*parent = FIXED_DUPS;
	return group_get_visible(query, node, &group);
}

static int group_path(const struct view_query *query, uint64_t node, struct bytes *path)
{
	char name[GROUP_NAME_SIZE];
	struct group_record group;
	int r = group_get_visible(query, node, &group);

	if (r < 0)
		return r;
	group_name_make(name, group.hash, group.ordinal);
	return bytes_format(path, "dups/%s", name);
}

const struct node_ops group_ops = {
	.path = group_path,
	.getattr = group_getattr,
	.lookup = group_lookup,
	.list_begin = group_list_begin,
	.list = group_walk_list,
};
