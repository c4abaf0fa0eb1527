/* SPDX-License-Identifier: MIT */

/* The directories and files of the sources: without redundant copies (uniques/), with redundant
 * copies only (redundant/), or with all names, below equal folders (folders/). The tree redundant/
 * has only the directories that contain redundant copies at any depth.
 *
 * In a shared view, a caller sees only the files that it finds in the source. Of the copies of a
 * group that the caller finds, one is in uniques/ and the others are in redundant/. In a shared
 * view, redundant/ has every directory: a missing directory would reveal hidden copies. To compute
 * which directories contain visible copies, all files would have to be checked. */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stop.h"
#include "index/kept.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"
#include "view/tree/access.h"
#include "view/tree/node.h"
#include "view/tree/query.h"
#include "view/tree/visible_copies.h"

/* Outcome: the name belongs to the other tree. */
enum {
	TREE_ELSEWHERE = 1
};

/* Is the directory the root of a single source? That root always exists, even if it is empty. */
static bool is_single_root(const struct view_query *query, const struct dir_record *dir)
{
	return dir->parent == 0 && query->view->sources->count == 1;
}

static int get_dir(const struct view_query *query, uint64_t node, struct dir_record *dir)
{
	struct redundant_record redundant;
	int r = catalog_get_dir(query->reader, node_id(node), dir);

	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	if (node_kind(node) != NODE_REDUNDANT || is_single_root(query, dir) || query->caller)
		return 0;
	r = catalog_get_redundant(query->reader, dir->id, &redundant);
	return r == 0 && redundant.count == 0 ? -ESTALE : r;
}

/* Raises the ctime of a directory to the last change of its listing. A caller is not shown that
 * time, as the change can concern a hidden file. */
static int add_listing_time(const struct view_query *query, uint64_t node, struct stat *attributes)
{
	enum node_kind tree = (enum node_kind)node_kind(node);
	struct redundant_record redundant;
	int r;

	if (query->caller || tree == NODE_FOLDER)
		return 0;
	r = catalog_get_redundant(query->reader, node_id(node), &redundant);
	if (r == 0)
		attributes->st_ctim = clock_latest(attributes->st_ctim,
						   tree == NODE_DIR ? redundant.in_uniques
								    : redundant.in_redundant);
	return r;
}

static int tree_getattr(const struct view_query *query, uint64_t node, struct stat *attributes)
{
	struct dir_record dir;
	int r = get_dir(query, node, &dir);

	if (r < 0)
		return r;
	stat_set_record(attributes, node, &dir.attributes);
	return add_listing_time(query, node, attributes);
}

static int file_getattr(const struct view_query *query, uint64_t node, struct stat *attributes)
{
	struct file_record file;
	int r = catalog_get_file(query->reader, node_id(node), &file);

	if (r == -ENOENT)
		return -ESTALE;
	if (r == 0)
		stat_set_file_record(attributes, &file, query->caller);
	return r;
}

int file_get_version(const struct view_query *query, uint64_t node, struct file_record *file)
{
	int r = catalog_get_file(query->reader, node_id(node), file);

	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	return node_make_file(file->id, file->content_version) == node ? 0 : -ESTALE;
}

/* ---- names -------------------------------------------------------------------------- */

static int get_folder(const struct view_query *query, uint64_t parent, uint64_t id,
		      struct stat *attributes)
{
	uint64_t depth = node_depth(parent) + 1;

	if (depth > NODE_DEPTH_MAX)
		return -ENAMETOOLONG;
	/* before the frontend knows the node */
	(void)raise_most(&query->view->folder_depth, depth);
	return tree_getattr(query, node_make_folder(id, depth), attributes);
}

static int get_subdir(const struct view_query *query, uint64_t parent, uint64_t id,
		      struct stat *attributes)
{
	int r;

	if (node_kind(parent) == NODE_FOLDER)
		return get_folder(query, parent, id, attributes);
	r = tree_getattr(query, node_make(node_kind(parent), id), attributes);

	return r == -ESTALE && node_kind(parent) == NODE_REDUNDANT ? TREE_ELSEWHERE : r;
}

static int get_file(const struct view_query *query, uint64_t parent,
		    const struct entry_record *entry, struct stat *attributes)
{
	bool redundant = false;
	int r = file_getattr(query, node_make(NODE_FILE, entry->child), attributes);

	if (r < 0 || node_kind(parent) == NODE_FOLDER)
		return r;
	if (S_ISREG(attributes->st_mode))
		r = visible_is_redundant(query, entry, &redundant);
	if (r < 0)
		return r;
	return redundant == (node_kind(parent) == NODE_REDUNDANT) ? 0 : TREE_ELSEWHERE;
}

/* Gets the attributes of an entry. Returns 0, TREE_ELSEWHERE, or -errno. If stat(2) of the object
 * failed during the scan, returns the errno of that failure. */
static int get_entry(const struct view_query *query, uint64_t parent,
		     const struct entry_record *entry, struct stat *attributes)
{
	int r;

	switch (entry->kind) {
	case ENTRY_DIR:
		r = get_subdir(query, parent, entry->child, attributes);
		break;
	case ENTRY_FILE:
		r = get_file(query, parent, entry, attributes);
		break;
	case ENTRY_UNKNOWN:
		return node_kind(parent) == NODE_REDUNDANT ? TREE_ELSEWHERE : -(int)entry->child;
	default:
		return -EUCLEAN;
	}
	return expect_record(r);
}

/* Returns the reason for a missing name. A directory that could not be read has no names in the
 * index, but can have names in the source. */
static int missing_reason(const struct view_query *query, uint64_t node)
{
	struct dir_record dir;
	int r = get_dir(query, node, &dir);

	if (r < 0)
		return r;
	return dir.error ? -dir.error : -ENOENT;
}

static int tree_lookup(const struct view_query *query, uint64_t node, const char *name,
		       struct stat *attributes)
{
	struct name wanted = {.bytes = name, .length = (uint32_t)strlen(name)};
	struct entry_record entry;
	int r = catalog_find_entry(query->reader, node_id(node), wanted, &entry);

	if (r == -ENOENT)
		return missing_reason(query, node);
	if (r == 0)
		r = get_entry(query, node, &entry, attributes);
	return r == TREE_ELSEWHERE ? -ENOENT : r;
}

/* ---- listings ----------------------------------------------------------------------- */

uint64_t tree_parent(const struct sources *sources, const struct dir_record *dir,
		     enum node_kind tree)
{
	if (dir->parent)
		return node_make(tree, dir->parent);
	if (sources->count == 1)
		return FIXED_ROOT;
	return tree == NODE_DIR ? FIXED_UNIQUES : FIXED_REDUNDANT;
}

uint64_t folder_parent(const struct view_query *query, const struct dir_record *dir, uint64_t depth)
{
	uint64_t group = 0;

	if (depth > 0)
		return node_make_folder(dir->parent, depth - 1);
	if (catalog_find_folder_group(query->reader, dir->id, &group) < 0 || group == 0)
		return FIXED_FOLDERS;
	return node_make(NODE_EQUALS, group);
}

static int tree_list_begin(const struct view_query *query, uint64_t node, uint64_t *parent)
{
	struct dir_record dir;
	int r = get_dir(query, node, &dir);

	if (r < 0)
		return r;
	if (dir.error && !(dir.flags & DIR_NOT_SEARCHED))
		return -dir.error;
	*parent = node_kind(node) == NODE_FOLDER
			  ? folder_parent(query, &dir, node_depth(node))
			  : tree_parent(query->view->sources, &dir, node_kind(node));
	return 0;
}

struct tree_listing {
	const struct view_query *query;
	uint64_t node;
	bool searched; /* the caller can search the directory; if not, only names are emitted */
	view_emit_fn *emit;
	void *context;
};

/* Returns 0 or TREE_ELSEWHERE for an entry of a directory that the caller cannot search. None of
 * the files in that directory is visible as a copy. */
static int get_name(uint64_t parent, const struct entry_record *entry)
{
	return node_kind(parent) != NODE_REDUNDANT || entry->kind == ENTRY_DIR ? 0 : TREE_ELSEWHERE;
}

/* Emits one entry. Sets *full if it did not fit. */
static int list_entry(const struct tree_listing *listing, const struct entry_record *record,
		      bool *full)
{
	char name[NAME_BYTES_MAX + 1];
	struct view_entry entry = {.name = name, .cookie = record->cookie, .known = true};
	int r = listing->searched
			? get_entry(listing->query, listing->node, record, &entry.attributes)
			: get_name(listing->node, record);

	if (r == TREE_ELSEWHERE)
		return cancellation_is_requested(listing->query->cancellation) ? -EINTR : 0;
	if (r < 0 && record->kind != ENTRY_UNKNOWN)
		return r;
	if (r < 0 || !listing->searched) {
		entry.known = false;
		entry.attributes = (struct stat){0};
	}
	memcpy(name, record->name.bytes, record->name.length);
	name[record->name.length] = '\0';
	*full = !listing->emit(&entry, listing->context);
	return 0;
}

static int tree_list(const struct view_query *query, uint64_t node, uint64_t after,
		     view_emit_fn *emit, void *context)
{
	int r = access_check_node(query, node, X_OK);
	const struct tree_listing listing = {query, node, r == 0, emit, context};
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	bool full = false;

	if (r == 0 || r == -EACCES)
		r = catalog_scan_entries(query->reader, node_id(node), after, &scan);
	while (r == 0 && !full && (r = catalog_next_entry(scan, &entry)) == 0)
		r = list_entry(&listing, &entry, &full);
	return r == -ENOENT ? 0 : r;
}

/* Returns the last names of a path, this many. */
static const char *last_names(const char *path, size_t length, uint64_t count)
{
	const char *at = path + length;

	while (count > 0 && at > path) {
		at--;
		count -= at == path || at[-1] == '/';
	}
	return at;
}

/* Appends the path in folders/: that of the equal folder, then the names below it. */
static int folder_path(const struct view_query *query, uint64_t node, struct bytes *path)
{
	CLEANUP_BYTES struct bytes relative = {0};
	struct dir_record dir = {.parent = node_id(node)};
	const char *names;
	uint32_t source;
	int r = catalog_dir_path(query->reader, node_id(node), &relative, &source);

	for (uint64_t i = 0; r == 0 && i <= node_depth(node); i++)
		r = dir.parent ? catalog_get_dir(query->reader, dir.parent, &dir) : -ESTALE;
	if (r == 0)
		r = equals_append_path(query, dir.id, path);
	if (r < 0 || node_depth(node) == 0)
		return r == -ENOENT ? -ESTALE : r;
	names = last_names((const char *)relative.data, relative.length, node_depth(node));
	r = bytes_append(path, "/", 1);
	return r < 0 ? r
		     : bytes_append(path, names,
				    (size_t)((const char *)relative.data + relative.length -
					     names));
}

static int tree_path(const struct view_query *query, uint64_t node, struct bytes *path)
{
	const struct sources *sources = query->view->sources;
	CLEANUP_BYTES struct bytes relative = {0};
	struct dir_record dir;
	uint32_t source;
	int r;

	if (node_kind(node) == NODE_FOLDER)
		return folder_path(query, node, path);
	r = get_dir(query, node, &dir);
	if (r == 0)
		r = expect_record(catalog_dir_path(query->reader, dir.id, &relative, &source));
	if (r == 0 && source >= sources->count)
		r = -EUCLEAN;
	if (r == 0)
		r = bytes_format(path, "%s%s%s%s",
				 node_kind(node) == NODE_DIR ? "uniques" : "redundant",
				 sources->count > 1 ? "/" : "",
				 sources->count > 1 ? sources->list[source].tree : "",
				 relative.length ? "/" : "");
	return r < 0 ? r : bytes_append(path, relative.data, relative.length);
}

int tree_find_file(const struct view_query *query, uint64_t node, struct file_place *place)
{
	struct file_record file;
	struct entry_record entry;
	bool redundant = false;
	int r = file_get_version(query, node, &file);

	if (r == 0 && file.names == 0)
		r = -ESTALE;
	if (r < 0)
		return r;
	r = catalog_entry_at(query->reader, file.dir, file.cookie, &entry);
	if (r == 0 && S_ISREG(file.attributes.mode))
		r = visible_is_redundant(query, &entry, &redundant);
	if (r == 0)
		r = bytes_append(&place->name, entry.name.bytes, entry.name.length);
	place->folder = node_make(redundant ? NODE_REDUNDANT : NODE_DIR, file.dir);
	return r < 0 ? expect_record(r) : tree_path(query, place->folder, &place->path);
}

/* ---- paths in the source ------------------------------------------------------------ */

static int file_path(const struct view_query *query, uint64_t id, struct bytes *path,
		     uint32_t *source)
{
	struct file_record file;
	int r = catalog_get_file(query->reader, id, &file);

	if (r < 0)
		return r;
	if (file.names == 0)
		return -ENOENT;
	return catalog_entry_path(query->reader, file.dir, file.cookie, path, source);
}

static int append_absolute(const struct view_query *query, struct bytes *relative, uint32_t source,
			   struct bytes *path)
{
	const char *text = bytes_text(relative);

	if (!text)
		return -ENOMEM;
	return source_absolute_path(query->view->sources, source, text, path);
}

int source_path_of(const struct view_query *query, uint64_t node, struct bytes *path)
{
	CLEANUP_BYTES struct bytes relative = {0};
	uint32_t source;
	int r;

	if (node_is_source_dir(node))
		r = catalog_dir_path(query->reader, node_id(node), &relative, &source);
	else
		r = file_path(query, node_id(node), &relative, &source);
	return r < 0 ? r : append_absolute(query, &relative, source, path);
}

int source_path_for(const struct view_query *query, uint64_t node, struct bytes *path)
{
	CLEANUP_BYTES struct bytes relative = {0};
	struct file_record file;
	struct kept_rank rank = {0};
	int r;

	if (!query->caller || node_is_source_dir(node))
		return source_path_of(query, node, path);
	r = catalog_get_file(query->reader, node_id(node), &file);
	if (r == 0 && file.names == 1)
		return source_path_of(query, node, path);
	if (r == 0)
		r = access_find_file(query, &file, &relative, &rank);
	if (r < 0)
		return r == -EACCES ? -ENODATA : r;
	return append_absolute(query, &relative, rank.source, path);
}

const struct node_ops tree_ops = {
	.path = tree_path,
	.getattr = tree_getattr,
	.lookup = tree_lookup,
	.list_begin = tree_list_begin,
	.list = tree_list,
};

const struct node_ops file_ops = {
	.getattr = file_getattr,
};
