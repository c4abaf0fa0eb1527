/* SPDX-License-Identifier: MIT */

/* The groups and the names of their copies: dups/ with the verified groups of files, and folders/
 * with the groups of equal folders, ordered by reclaimable bytes (ranks.c). The folder of a group
 * of equal folders has them under names like those of copies (names.h). */

#include <errno.h>
#include <string.h>

#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"
#include "view/tree/access.h"
#include "view/tree/names.h"
#include "view/tree/node.h"
#include "view/tree/query.h"
#include "view/tree/visible_copies.h"

/* ---- dups/ -------------------------------------------------------------------------- */

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

/* ---- folders of groups -------------------------------------------------------------- */

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

/* ---- names of copies ---------------------------------------------------------------- */

/* Gets the path of a name, as catalog_entry_path does. */
static int entry_path(const struct view_query *query, const struct entry_record *entry,
		      struct bytes *path, uint32_t *source)
{
	int r = directory_paths_append(&query->view->directory_paths, query->reader, entry->dir,
				       path, source);

	if (r == 0 && path->length > 0)
		r = bytes_append(path, "/", 1);
	return r < 0 ? r : bytes_append(path, entry->name.bytes, entry->name.length);
}

/* Writes the name of an entry in the folder of its group. kept: with the mark of the kept copy.
 * Returns 0 or -errno. */
static int group_copy_name(const struct view_query *query, const struct entry_record *entry,
			   bool kept, char name[static COPY_NAME_SIZE])
{
	const struct sources *sources = query->view->sources;
	CLEANUP_BYTES struct bytes relative = {0}, path = {0};
	uint32_t source = 0;
	int r = entry_path(query, entry, &relative, &source);

	if (r == 0 && source >= sources->count)
		r = -EUCLEAN;
	if (r == 0 && sources->count > 1)
		r = bytes_format(&path, "%s/", sources->list[source].tree);
	if (r == 0)
		r = bytes_append(&path, relative.data, relative.length);
	if (r == 0)
		(kept ? copy_name_make_kept : copy_name_make)(name, (const char *)path.data,
							      path.length, entry->dir,
							      entry->cookie);
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

/* Finds the entry of a copy's name without the mark. The file can be in another group; it can be a
 * directory. kept: the name is that after the mark. Returns 0, -ENOENT or another -errno. */
static int group_find_copy(const struct view_query *query, const char *name, bool kept,
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

/* ---- the walk over the names of a group --------------------------------------------- */

/* Visits every name of every inode in the group. The time is linear in the number of names and
 * inodes. */

/* Walks the names of a group in the order of their ids (index/file.h). Merges two scans: the
 * members, whose ids are those of their first names, and names with ids of their own. */
struct group_walking {
	const struct view_query *query;
	uint64_t kept; /* file id of the kept copy, for the caller */
	struct catalog_scan *members, *places;
	uint64_t member; /* next member; UINT64_MAX after the last */
	struct file_name place; /* next name with an id of its own; UINT64_MAX after the last */
	struct file_name at; /* current name */
	struct file_record file; /* file of the current name */
};

static void walk_deinit(struct group_walking *walk)
{
	catalog_scan_end(walk->places);
	catalog_scan_end(walk->members);
}

static int walk_next_member(struct group_walking *walk)
{
	int r = catalog_next_member(walk->members, &walk->member);

	if (r == -ENOENT)
		walk->member = UINT64_MAX;
	return r == -ENOENT ? 0 : r;
}

static int walk_next_place(struct group_walking *walk)
{
	int r = catalog_next_place(walk->places, &walk->place);

	if (r == -ENOENT)
		walk->place.id = UINT64_MAX;
	return r == -ENOENT ? 0 : r;
}

/* Begins after the name with this id. */
static int walk_init(struct group_walking *walk, const struct view_query *query, uint64_t group,
		     uint64_t after)
{
	int r = catalog_scan_members(query->reader, group, after, &walk->members);

	walk->query = query;
	if (r == 0)
		r = catalog_scan_places(query->reader, group, after, &walk->places);
	if (r == 0)
		r = walk_next_member(walk);
	return r < 0 ? r : walk_next_place(walk);
}

/* Outcome: the member has no name, or its first name has an id of its own. */
enum {
	WALK_OTHER_ID = 1
};

static int walk_member(struct group_walking *walk)
{
	int r = catalog_get_file(walk->query->reader, walk->member, &walk->file);

	if (r < 0)
		return expect_record(r);
	walk->at =
		(struct file_name){walk->file.id, walk->file.id, walk->file.dir, walk->file.cookie};
	r = walk_next_member(walk);
	if (r < 0)
		return r;
	return walk->file.names == 0 || walk->file.name ? WALK_OTHER_ID : 0;
}

static int walk_place(struct group_walking *walk)
{
	int r = 0;

	walk->at = walk->place;
	if (walk->file.id != walk->at.file)
		r = catalog_get_file(walk->query->reader, walk->at.file, &walk->file);
	return r < 0 ? expect_record(r) : walk_next_place(walk);
}

/* Advances to the next name that the caller finds, and sets walk->at and walk->file. Returns 0,
 * -ENOENT after the last name, or another -errno. */
static int walk_next(struct group_walking *walk)
{
	int r;

	do {
		if (walk->member == UINT64_MAX && walk->place.id == UINT64_MAX)
			return -ENOENT;
		r = walk->member < walk->place.id ? walk_member(walk) : walk_place(walk);
		if (r == 0)
			r = access_find_name(walk->query, &walk->file, walk->at.dir,
					     walk->at.cookie);
	} while (r == -EACCES || r == WALK_OTHER_ID);
	return r;
}

/* ---- the listing -------------------------------------------------------------------- */

/* Outcome: the name did not fit. */
enum {
	NAME_FULL = 1
};

/* Emits the current name. Returns 0, NAME_FULL or -errno. */
static int emit_name(const struct group_walking *walk, view_emit_fn *emit, void *context)
{
	char name[COPY_NAME_SIZE];
	struct view_entry entry = {
		.name = name,
		.cookie = listing_cookie(walk->query->view->cookie_secret, walk->at.id),
		.known = true,
	};
	struct entry_record found;
	int r = catalog_entry_at(walk->query->reader, walk->at.dir, walk->at.cookie, &found);

	if (r == 0)
		r = group_copy_name(walk->query, &found, walk->file.id == walk->kept, name);
	if (r < 0)
		return expect_record(r);
	stat_set_file_record(&entry.attributes, &walk->file, walk->query->caller);
	return emit(&entry, context) ? 0 : NAME_FULL;
}

static int group_list(const struct view_query *query, uint64_t node, uint64_t after,
		      view_emit_fn *emit, void *context)
{
	CLEANUP(walk_deinit) struct group_walking walk = {0};
	uint64_t id = listing_id(query->view->cookie_secret, after);
	struct group_record group;
	int r = catalog_get_group(query->reader, node_id(node), &group);

	if (r == 0)
		r = visible_group(query, &group);
	if (r == 0)
		r = walk_init(&walk, query, group.id, id);
	walk.kept = group.kept;

	while (r == 0 && (r = walk_next(&walk)) == 0)
		r = emit_name(&walk, emit, context);
	return r == -ENOENT || r == NAME_FULL ? 0 : r;
}

const struct node_ops group_ops = {
	.path = group_path,
	.getattr = group_getattr,
	.lookup = group_lookup,
	.list_begin = group_list_begin,
	.list = group_list,
};

/* ---- folders/ ----------------------------------------------------------------------- */

/* The cookie in the name of a source's root, which no entry has. */
#define ROOT_COOKIE 1

int equals_get(const struct view_query *query, uint64_t id, struct folder_group *group)
{
	int r = catalog_get_folder_group(query->reader, id, group);

	return r == -ENOENT || (r == 0 && group->ranked == 0) ? -ESTALE : r;
}

static void fill_equals(const struct view_query *query, uint64_t id, struct stat *attributes)
{
	struct view *view = query->view;
	uint64_t node = node_make(NODE_EQUALS, id);

	stat_set_directory(attributes, node, listing_times_latest(&view->times, node, view->since));
}

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
static int describe_equals(const struct view_query *query, uint64_t id, bool deep,
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
	fill_equals(query, id, attributes);
	return name_of(query, &dir, &ranked->name);
}

static struct rank_order order_of_folders(struct view *view, const struct catalog_totals *totals)
{
	return (struct rank_order){totals->folder_groups, totals->folder_order,
				   &view->folder_ranking};
}

const struct ranked folders_ranked = {
	.path = "folders",
	.node = FIXED_FOLDERS,
	.part = NODE_FOLDER_RANKS,
	.order = order_of_folders,
	.describe = describe_equals,
};

/* ---- folders of equal folders ------------------------------------------------------- */

static int equals_getattr(const struct view_query *query, uint64_t node, struct stat *attributes)
{
	struct folder_group group;
	int r = equals_get(query, node_id(node), &group);

	if (r == 0)
		fill_equals(query, group.id, attributes);
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
