/* SPDX-License-Identifier: MIT */
#include "view/tree/invalidation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sort.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"
#include "row/json_path.h"
#include "row/json_text.h"
#include "view/tree/node.h"
#include "view/tree/query.h"

int invalidation_new(struct invalidation **invalidation, struct commit_delta *delta)
{
	struct invalidation *made = malloc(sizeof(*made));

	if (!made)
		return -ENOMEM;
	*made = (struct invalidation){.time = clock_now(), .delta = *delta};
	*delta = (struct commit_delta){0};
	*invalidation = made;
	return 0;
}

void invalidation_free(struct invalidation *invalidation)
{
	if (invalidation)
		commit_delta_free(&invalidation->delta);
	free(invalidation);
}

/* ---- all directories ---------------------------------------------------------------- */

static int add_folder(struct commit_delta *delta, uint64_t id)
{
	return commit_delta_add(delta, DELTA_DIRS, &(struct delta_dir){.dir = id});
}

static int add_folders_in(struct catalog_reader *reader, uint64_t id, struct commit_delta *delta)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	int r = catalog_scan_entries(reader, id, 0, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0) {
		if (entry.kind == ENTRY_DIR)
			r = add_folder(delta, entry.child);
	}
	return r == -ENOENT ? 0 : r;
}

static int find_all_folders(const struct view *view, struct commit_delta *delta)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	const struct delta_dir *found;
	size_t count;
	int r = catalog_read_begin(view->catalog, &reader);

	for (size_t i = 0; r == 0 && i < view->sources->count; i++)
		r = add_folder(delta, view->sources->list[i].root);
	found = commit_delta_list(delta, DELTA_DIRS, &count);
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = add_folders_in(reader, found[i].dir, delta);
		found = commit_delta_list(delta, DELTA_DIRS, &count);
	}
	return r;
}

int invalidation_new_all(struct invalidation **invalidation, const struct view *view)
{
	struct commit_delta delta = {0};
	int r = find_all_folders(view, &delta);

	if (r == 0)
		r = invalidation_new(invalidation, &delta);
	commit_delta_free(&delta);
	return r;
}

/* ---- event lines -------------------------------------------------------------------- */

/* Invalidations as lines of .twinfs/events. Any thread. */

struct lines {
	struct view_query query;
	const struct invalidation *invalidation;
	struct bytes text;
};

static void lines_deinit(struct lines *lines)
{
	query_end(&lines->query);
	bytes_free(&lines->text);
}

/* If r is 0, adds the members that every event has to the object, and appends the object as a line.
 * Takes the object; NULL only if r is below 0. Returns 0 or -errno. */
static int append_event(struct lines *lines, json_t *object, int r)
{
	if (r == 0)
		r = json_set_number(object, "generation", lines->invalidation->delta.generation);
	if (r == 0)
		r = json_set_time_ms(object, "time", lines->invalidation->time);
	if (r == 0)
		r = json_append_line(&lines->text, object, JSON_COMPACT);
	json_decref(object);
	return r;
}

static json_t *begin_event(const char *event)
{
	return json_pack("{ss}", "event", event);
}

static int set_hash(json_t *object, const struct group_record *group)
{
	char name[GROUP_NAME_SIZE];

	group_name_make(name, group->hash, group->ordinal);
	return json_set_text(object, "hash", name);
}

/* Sets the path of the kept copy, if its group still exists and the copy has a name. */
static int set_kept(struct lines *lines, json_t *object, const struct group_record *group)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r = group_is_visible(group)
			? source_path_of(&lines->query, node_make(NODE_FILE, group->kept), &path)
			: -ENOENT;

	if (r < 0)
		return r == -ENOENT || r == -EUCLEAN ? 0 : r;
	return json_set_path(object, "kept", (const char *)path.data, path.length);
}

static int append_group(struct lines *lines, const void *change)
{
	const struct delta_group *delta = change;
	bool before = group_is_visible(&delta->before), now = group_is_visible(&delta->now);
	const struct group_record *group = now ? &delta->now : &delta->before;
	const char *event = before == now ? "group_changed" : now ? "group_appeared" : "group_gone";
	json_t *object;
	int r;

	if (!before && !now)
		return 0;
	/* only what removing the copies would free has changed */
	if (before && now && clock_equal(delta->before.changed, delta->now.changed))
		return 0;
	object = begin_event(event);
	r = object ? set_hash(object, group) : -ENOMEM;
	if (r == 0)
		r = json_set_number(object, "size", group->size);
	if (r == 0)
		r = json_set_number(object, "copies", delta->now.inodes);
	if (r == 0)
		r = set_kept(lines, object, &delta->now);
	return append_event(lines, object, r);
}

static int append_folder_group(struct lines *lines, const void *change)
{
	const struct delta_folder_group *delta = change;
	bool before = delta->before.ranked > 0, now = delta->now.ranked > 0;
	const struct folder_group *group = now ? &delta->now : &delta->before;
	const char *event = before == now ? "folders_changed"
			    : now         ? "folders_appeared"
					  : "folders_gone";
	json_t *object;
	int r;

	if (delta->before.ranked == delta->now.ranked)
		return 0;
	object = begin_event(event);
	r = object ? json_set_number(object, "group", group->id) : -ENOMEM;
	if (r == 0)
		r = json_set_number(object, "size", group->bytes);
	if (r == 0)
		r = json_set_number(object, "files", group->files);
	if (r == 0)
		r = json_set_number(object, "folders", now ? group->folders : 0);
	return append_event(lines, object, r);
}

/* Begins an event about a node. *object is NULL if the node no longer exists; other events report
 * the removal of its names. */
static int begin_path_event(struct lines *lines, const char *event, uint64_t node, json_t **object)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r = source_path_of(&lines->query, node, &path);

	*object = NULL;
	if (r < 0)
		return r == -ENOENT || r == -EUCLEAN ? 0 : r;
	*object = begin_event(event);
	if (!*object)
		return -ENOMEM;
	return json_set_path(*object, "path", (const char *)path.data, path.length);
}

static int append_flip(struct lines *lines, const void *flip)
{
	const struct delta_flip *change = flip;
	const struct delta_group *delta =
		commit_delta_at(&lines->invalidation->delta, DELTA_GROUPS, change->group);
	json_t *object;
	int r = begin_path_event(lines, change->redundant ? "file_redundant" : "file_unique",
				 node_make(NODE_FILE, change->file), &object);

	if (r == 0 && !object)
		return 0;
	if (r == 0)
		r = set_hash(object, change->redundant ? &delta->now : &delta->before);
	if (r == 0)
		r = set_kept(lines, object, &delta->now);
	return append_event(lines, object, r);
}

static int append_error(struct lines *lines, const void *change)
{
	const struct delta_error *error = change;
	enum node_kind kind = error->kind == ERROR_DIR ? NODE_DIR : NODE_FILE;
	json_t *object;
	int r;

	if (!error->error)
		return 0;
	r = begin_path_event(lines, "error", node_make(kind, error->id), &object);
	if (r == 0 && !object)
		return 0;
	if (r == 0)
		r = json_set_text(object, "error", error_name(error->error));
	if (r == 0)
		r = json_set_text(object, "message", error_text(error->error));
	return append_event(lines, object, r);
}

/* Appends the event of a change of one kind, if it has one. */
typedef int append_fn(struct lines *lines, const void *change);

static int append_each(struct lines *lines, enum delta_kind kind, append_fn *append)
{
	const void *change;
	int r = 0;

	for (size_t i = 0;
	     r == 0 && (change = commit_delta_at(&lines->invalidation->delta, kind, i)); i++)
		r = append(lines, change);
	return r;
}

/* Appends all events. Their order matters to programs that act on an event: a group appears before
 * files become its copies. */
static int append_all(struct lines *lines)
{
	int r = append_each(lines, DELTA_GROUPS, append_group);

	if (r == 0)
		r = append_each(lines, DELTA_REDUNDANCY, append_flip);
	if (r == 0)
		r = append_each(lines, DELTA_FOLDER_GROUPS, append_folder_group);
	return r == 0 ? append_each(lines, DELTA_ERRORS, append_error) : r;
}

/* Appends the changes of an invalidation to .twinfs/events, if that file has readers. Returns 0, or
 * -errno and appends nothing. */
static int event_lines_add(struct view *view, const struct invalidation *invalidation)
{
	CLEANUP(lines_deinit) struct lines lines = {.invalidation = invalidation};
	int r;

	if (!atomic_load(&view->events.wanted))
		return 0;
	r = query_begin(&lines.query, view);
	if (r == 0)
		r = append_all(&lines);
	query_end(&lines.query);
	if (r < 0 || lines.text.length == 0)
		return r;
	return event_log_append(&view->events, &lines.text, invalidation->time);
}

/* ---- applying ----------------------------------------------------------------------- */

/* Translates an invalidation to entries and nodes of the view.
 *
 * The commit delta is processed in batches, each in a snapshot. Entries and nodes are collected
 * first, and passed to the sink after the snapshot has ended. The sink can block on a request that
 * waits until the memory map of the index has grown. The map can grow only after all snapshots have
 * ended. Entries are passed after each batch; waits and nodes at the end, after all entries.
 */

/* The kinds by which a directory of a source is shown once. In folders/ it can be shown several
 * times (node.h). */
static const enum node_kind trees[] = {NODE_DIR, NODE_REDUNDANT};

static const struct ranked *const ranked_dirs[] = {&by_size_ranked, &folders_ranked};

/* Changes, or collected entries, after which a batch ends. */
#define BATCH_CHANGES 4096
#define BATCH_ENTRIES 4096

struct invalid_entry {
	uint64_t parent;
	const char *name; /* name, in the invalidation or the arena */
	size_t length;
	bool directory;
};

struct node_list {
	uint64_t *list;
	size_t count, capacity;
};

struct pass {
	struct view_query query;
	const struct invalidation *invalidation;
	const struct invalidation_sink *sink;
	size_t changes; /* number of changes in this batch */
	/* a directory with a name of the current file can be cached by the kernel */
	bool parent_cached;
	bool dir_moved; /* a directory was renamed */
	struct arena names;
	struct invalid_entry *entries;
	size_t entry_count, entry_capacity;
	struct node_list entry_parents; /* parents of the entries that were invalidated */
	struct node_list waits;
	struct node_list nodes;
};

static bool is_cached(const struct pass *pass, uint64_t node)
{
	return pass->sink->is_cached(pass->sink->context, node);
}

/* ---- collecting --------------------------------------------------------------------- */

static int list_add(struct node_list *list, uint64_t node)
{
	if (list->count && list->list[list->count - 1] == node)
		return 0;
	if (array_reserve(&list->list, &list->capacity, list->count + 1, sizeof(*list->list)) < 0)
		return -ENOMEM;
	list->list[list->count++] = node;
	return 0;
}

/* Adds an entry. The name must stay valid until the batch ends. */
static int add_entry(struct pass *pass, uint64_t parent, const char *name, size_t length,
		     bool directory)
{
	int r = array_reserve(&pass->entries, &pass->entry_capacity, pass->entry_count + 1,
			      sizeof(*pass->entries));

	if (r == 0)
		pass->entries[pass->entry_count++] =
			(struct invalid_entry){parent, name, length, directory};
	return r;
}

static int add_entry_copy(struct pass *pass, uint64_t parent, const char *name, size_t length,
			  bool directory)
{
	const char *copy = arena_copy(&pass->names, name, length);

	return copy ? add_entry(pass, parent, copy, length, directory) : -ENOMEM;
}

/* Adds a node with changed attributes, and a wait for its parent. */
static int add_node(struct pass *pass, uint64_t node, uint64_t parent)
{
	int r = 0;

	if (is_cached(pass, parent))
		r = list_add(&pass->waits, parent);
	return r < 0 ? r : list_add(&pass->nodes, node);
}

/* ---- passing to the sink ------------------------------------------------------------ */

static int compare_entries(const void *a, const void *b)
{
	const struct invalid_entry *first = a, *second = b;
	size_t length = first->length < second->length ? first->length : second->length;
	int order;

	if (first->parent != second->parent)
		return first->parent < second->parent ? -1 : 1;
	order = memcmp(first->name, second->name, length);
	if (order)
		return order;
	return first->length < second->length ? -1 : first->length > second->length;
}

static void list_sort(struct node_list *list)
{
	if (list->count)
		list->count = numbers_sort_once(list->list, list->count);
}

static int invalidate_entries(struct pass *pass)
{
	const struct invalid_entry *before = NULL;
	int r = 0;

	if (pass->entry_count)
		qsort(pass->entries, pass->entry_count, sizeof(*pass->entries), compare_entries);
	for (size_t i = 0; i < pass->entry_count && r == 0; i++) {
		const struct invalid_entry *entry = &pass->entries[i];

		if (before && compare_entries(before, entry) == 0)
			continue;
		pass->sink->entry(pass->sink->context, entry->parent, entry->name, entry->length,
				  entry->directory);
		r = list_add(&pass->entry_parents, entry->parent);
		before = entry;
	}
	pass->entry_count = 0;
	arena_reset(&pass->names);
	return r;
}

/* Passes waits and nodes to the sink. The invalidation of an entry has already waited for the
 * parent of the entry, so that wait is omitted. */
static void invalidate_nodes(struct pass *pass)
{
	const struct invalidation_sink *sink = pass->sink;
	const struct node_list *parents = &pass->entry_parents;
	size_t at = 0;

	list_sort(&pass->entry_parents);
	list_sort(&pass->waits);
	list_sort(&pass->nodes);
	for (size_t i = 0; i < pass->waits.count; i++) {
		uint64_t node = pass->waits.list[i];

		while (at < parents->count && parents->list[at] < node)
			at++;
		if (at == parents->count || parents->list[at] != node)
			sink->wait(sink->context, node);
	}
	for (size_t i = 0; i < pass->nodes.count; i++)
		sink->inode(sink->context, pass->nodes.list[i]);
	if (pass->dir_moved)
		sink->copy_listings(sink->context);
}

/* Called after each change. Ends the batch if it is large enough. */
static int end_batch(struct pass *pass)
{
	struct view *view = pass->query.view;
	int r;

	if (++pass->changes < BATCH_CHANGES && pass->entry_count < BATCH_ENTRIES)
		return 0;
	pass->changes = 0;
	query_end(&pass->query);
	r = invalidate_entries(pass);
	return r < 0 ? r : query_begin(&pass->query, view);
}

/* ---- changes ------------------------------------------------------------------------ */

/* Ignores a missing or damaged record: only the names of such an object have to be invalidated. */
static int ignore_missing(int result)
{
	return result == -ENOENT || result == -EUCLEAN ? 0 : result;
}

/* Handles a directory of a source, as one of the nodes that show it. */
typedef int place_fn(struct pass *pass, uint64_t node, const void *context);

/* Calls handle for each node that shows a directory. If the kernel never looked into folders/, it
 * has no node of it. */
static int for_each_place(struct pass *pass, uint64_t dir, place_fn *handle, const void *context)
{
	uint64_t depth_max = pass->query.view->folder_depth;
	int r = 0;

	for (size_t tree = 0; tree < ARRAY_SIZE(trees) && r == 0; tree++)
		r = handle(pass, node_make(trees[tree], dir), context);
	if (r < 0 || !is_cached(pass, FIXED_FOLDERS))
		return r;
	for (uint64_t depth = 0; depth <= depth_max && r == 0; depth++)
		r = handle(pass, node_make_folder(dir, depth), context);
	return r;
}

static int invalidate_name_in(struct pass *pass, uint64_t parent, const void *context)
{
	const struct delta_name *name = context;
	const char *text = (const char *)pass->invalidation->delta.text.data + name->offset;
	int r;

	if (!is_cached(pass, parent))
		return 0;
	r = add_entry(pass, parent, text, name->length, name->directory);
	return r < 0 ? r : list_add(&pass->nodes, parent);
}

static int invalidate_name(struct pass *pass, const void *change)
{
	const struct delta_name *name = change;

	return for_each_place(pass, name->dir, invalidate_name_in, name);
}

static int invalidate_dir_in(struct pass *pass, uint64_t node, const void *context)
{
	const struct dir_record *dir = context;
	enum node_kind tree = (enum node_kind)node_kind(node);
	uint64_t parent = tree == NODE_FOLDER ? folder_parent(&pass->query, dir, node_depth(node))
					      : tree_parent(pass->query.view->sources, dir, tree);

	if (!is_cached(pass, node) && !is_cached(pass, parent))
		return 0;
	return add_node(pass, node, parent);
}

static int invalidate_removed_dir(struct pass *pass, uint64_t node, const void *context)
{
	(void)context;
	return is_cached(pass, node) ? list_add(&pass->nodes, node) : 0;
}

static int invalidate_dir(struct pass *pass, const void *change)
{
	const struct delta_dir *delta = change;
	struct dir_record dir;
	int r = catalog_get_dir(pass->query.reader, delta->dir, &dir);
	bool gone = r == -ENOENT;

	pass->dir_moved |= delta->moved;
	if (r < 0 && !gone)
		return ignore_missing(r);
	return for_each_place(pass, delta->dir, gone ? invalidate_removed_dir : invalidate_dir_in,
			      &dir);
}

/* Handles one name of a file; parent is a node of the directory of the name. */
typedef int name_fn(struct pass *pass, uint64_t parent, const struct entry_record *entry);

/* A name of a file, while the nodes of its directory are visited. */
struct visit {
	uint64_t cookie;
	name_fn *handle;
};

static int visit_name(struct pass *pass, uint64_t parent, const void *context)
{
	const struct visit *visit = context;
	struct entry_record entry;
	int r;

	if (!is_cached(pass, parent))
		return 0;
	pass->parent_cached = true;
	r = catalog_entry_at(pass->query.reader, node_id(parent), visit->cookie, &entry);
	return r < 0 ? r : visit->handle(pass, parent, &entry);
}

static int for_each_name(struct pass *pass, const struct file_record *file, name_fn *handle)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct visit visit = {.handle = handle};
	uint64_t dir;
	int r;

	if (file->names == 0)
		return 0;
	r = catalog_scan_names(pass->query.reader, file, &scan);
	while (r == 0 && (r = catalog_next_name(scan, &dir, &visit.cookie)) == 0)
		r = for_each_place(pass, dir, visit_name, &visit);
	return ignore_missing(r);
}

/* Adds the entry of a name that now refers to another node. */
static int invalidate_entry(struct pass *pass, uint64_t parent, const struct entry_record *entry)
{
	return add_entry_copy(pass, parent, entry->name.bytes, entry->name.length,
			      entry->kind == ENTRY_DIR);
}

/* Adds a wait for the parent of a name whose node has other attributes. */
static int wait_for_parent(struct pass *pass, uint64_t parent, const struct entry_record *entry)
{
	(void)entry;
	return list_add(&pass->waits, parent);
}

/* Handles a directory whose listing changed, and for which the index has no time of this. */
static int invalidate_listing(struct pass *pass, uint64_t node)
{
	int r = listing_times_set(&pass->query.view->times, node, pass->invalidation->time);

	return r < 0 ? r : list_add(&pass->nodes, node);
}

/* Handles a name that appears in uniques/ or redundant/, or disappears from it. */
static int relist_entry(struct pass *pass, uint64_t parent, const struct entry_record *entry)
{
	int r;

	if (node_kind(parent) == NODE_FOLDER)
		return 0; /* it has all names */
	r = invalidate_entry(pass, parent, entry);
	return r < 0 ? r : list_add(&pass->nodes, parent);
}

/* Handles the folder of a file's group. The kernel caches the listing of the folder, but no names
 * in it. The listing changes if the file gained or lost a name. */
static int handle_group(struct pass *pass, uint64_t file, bool relisted)
{
	struct content_record content;
	int r = catalog_get_content(pass->query.reader, file, &content);
	uint64_t folder;

	if (r < 0 || content.group == 0)
		return ignore_missing(r);
	folder = node_make(NODE_GROUP, content.group);
	if (!is_cached(pass, folder))
		return 0;
	pass->parent_cached = true;
	r = list_add(&pass->waits, folder);
	return r < 0 || !relisted ? r : list_add(&pass->nodes, folder);
}

/* Handles a changed file. If the content of a regular file became unknown, its names refer to
 * another node. For other kinds of files, the delta does not show whether this is so, and every
 * change counts. If the attributes changed, the file counts as cached even if only a
 * directory of its names is marked (view/fuse/kernel_cache.h): a running lookup marks the directory
 * first, then the file. The node of the previous version is also
 * invalidated, as it can be open with outdated attributes. */
static int invalidate_file(struct pass *pass, const void *change)
{
	const struct delta_file *delta = change;
	struct file_record file;
	bool cached = is_cached(pass, node_make(NODE_FILE, delta->file));
	bool other_node;
	int r = catalog_get_file(pass->query.reader, delta->file, &file);

	if (r == -ENOENT && cached) /* for programs that watch the file */
		return list_add(&pass->nodes, node_make(NODE_FILE, delta->file));
	if (r < 0)
		return ignore_missing(r);
	if ((delta->what & ~(uint32_t)DELTA_FILE_FEWER) == DELTA_FILE_NAMES)
		return handle_group(pass, file.id, true);
	other_node = delta->what & DELTA_FILE_UNREAD || !S_ISREG(file.attributes.mode);
	pass->parent_cached = false;
	r = for_each_name(pass, &file, other_node ? invalidate_entry : wait_for_parent);
	if (r == 0)
		r = handle_group(pass, file.id, delta->what & DELTA_FILE_NAMES);
	if (delta->what & DELTA_FILE_ATTRIBUTES)
		cached = cached || pass->parent_cached;
	if (r < 0 || !cached)
		return r;
	r = list_add(&pass->nodes, node_make_file(file.id, file.content_version));
	return r < 0 ? r
		     : list_add(&pass->nodes, node_make_file(file.id, file.content_version - 1));
}

static int invalidate_flip(struct pass *pass, const void *change)
{
	const struct delta_flip *flip = change;
	struct file_record file;
	int r = catalog_get_file(pass->query.reader, flip->file, &file);

	return ignore_missing(r < 0 ? r : for_each_name(pass, &file, relist_entry));
}

/* Handles a directory that appears in redundant/ or disappears from it. */
static int invalidate_redundant_dir(struct pass *pass, const void *change)
{
	const struct sources *sources = pass->query.view->sources;
	uint64_t id = *(const uint64_t *)change;
	struct dir_record dir;
	uint64_t parent;
	int r = catalog_get_dir(pass->query.reader, id, &dir);

	if (r < 0 || dir.source >= sources->count)
		return ignore_missing(r);
	parent = tree_parent(sources, &dir, NODE_REDUNDANT);
	if (parent == FIXED_ROOT || !is_cached(pass, parent))
		return 0;
	if (dir.parent == 0)
		dir.name = (struct name){sources->list[dir.source].tree,
					 (uint32_t)strlen(sources->list[dir.source].tree)};
	r = add_entry_copy(pass, parent, dir.name.bytes, dir.name.length, true);
	if (r < 0)
		return r;
	return parent == FIXED_REDUNDANT ? invalidate_listing(pass, parent)
					 : list_add(&pass->nodes, parent);
}

/* Handles a folder that appears in dups/ or disappears from it. */
static int invalidate_folder(struct pass *pass, const struct group_record *group)
{
	char name[GROUP_NAME_SIZE];
	int r;

	group_name_make(name, group->hash, group->ordinal);
	r = add_entry_copy(pass, FIXED_DUPS, name, strlen(name), true);
	return r < 0 ? r : list_add(&pass->nodes, FIXED_DUPS);
}

static int invalidate_group(struct pass *pass, const void *change)
{
	const struct delta_group *delta = change;
	const struct group_record *group = delta->now.id ? &delta->now : &delta->before;
	uint64_t node = node_make(NODE_GROUP, group->id);
	bool in_dups = is_cached(pass, FIXED_DUPS);
	int r = 0;

	if (in_dups && group_is_visible(&delta->before) != group_is_visible(&delta->now))
		r = invalidate_folder(pass, group);
	/* the kept copy, which stays unless it changed itself, loses its name in the folder */
	if (r == 0 && group_is_visible(&delta->before) && !group_is_visible(&delta->now))
		r = list_add(&pass->nodes, node_make(NODE_FILE, delta->before.kept));
	if (r == 0 && (in_dups || is_cached(pass, node)))
		r = add_node(pass, node, FIXED_DUPS);
	return r;
}

/* Handles the folder of a group of equal folders. The kernel caches its listing, but no names in
 * it. */
static int invalidate_equals(struct pass *pass, const void *change)
{
	const struct delta_folder_group *delta = change;
	uint64_t node = node_make(NODE_EQUALS, delta->now.id);
	int r;

	if (!is_cached(pass, node))
		return 0;
	r = list_add(&pass->waits, node);
	return r < 0 ? r : invalidate_listing(pass, node);
}

/* Invalidates a ranked directory and all its folders that were ever shown, as any change can move
 * ranks. */
static int invalidate_ranks(struct pass *pass, const struct ranked *ranked)
{
	struct catalog_totals totals;
	uint64_t folders;
	int r;

	if (!is_cached(pass, FIXED_ROOT) && !is_cached(pass, ranked->node))
		return 0;
	r = add_node(pass, ranked->node, FIXED_ROOT);
	if (r < 0 || !is_cached(pass, ranked->node))
		return r;
	r = list_add(&pass->waits, ranked->node);
	if (r == 0)
		r = catalog_get_totals(pass->query.reader, &totals);
	if (r < 0)
		return ignore_missing(r);
	folders = ranked_folders(pass->query.view, ranked, &totals);
	for (uint64_t i = 1; i <= folders && r == 0; i++) {
		r = list_add(&pass->waits, node_make(ranked->part, i));
		if (r == 0)
			r = list_add(&pass->nodes, node_make(ranked->part, i));
	}
	return r;
}

/* ---- entry point -------------------------------------------------------------------- */

/* Handles a change of one kind. */
typedef int change_fn(struct pass *pass, const void *change);

static change_fn *const handlers[DELTA_KINDS] = {
	[DELTA_NAMES] = invalidate_name,
	[DELTA_DIRS] = invalidate_dir,
	[DELTA_FILES] = invalidate_file,
	[DELTA_REDUNDANCY] = invalidate_flip,
	[DELTA_HOLDERS] = invalidate_redundant_dir,
	[DELTA_GROUPS] = invalidate_group,
	[DELTA_FOLDER_GROUPS] = invalidate_equals,
};

static int handle_changes(struct pass *pass, enum delta_kind kind)
{
	const void *change;
	int r = 0;

	for (size_t i = 0; r == 0 && handlers[kind] &&
			   (change = commit_delta_at(&pass->invalidation->delta, kind, i));
	     i++) {
		r = handlers[kind](pass, change);
		if (r == 0)
			r = end_batch(pass);
	}
	return r;
}

static int gather(struct pass *pass)
{
	int r = 0;

	for (int kind = 0; kind < DELTA_KINDS && r == 0; kind++)
		r = handle_changes(pass, (enum delta_kind)kind);
	/* the time of dups/ is that of the last commit */
	if (r == 0 && (is_cached(pass, FIXED_ROOT) || is_cached(pass, FIXED_DUPS)))
		r = add_node(pass, FIXED_DUPS, FIXED_ROOT);
	for (size_t i = 0; i < ARRAY_SIZE(ranked_dirs) && r == 0; i++)
		r = invalidate_ranks(pass, ranked_dirs[i]);
	return r;
}

static void pass_deinit(struct pass *pass)
{
	query_end(&pass->query);
	arena_free(&pass->names);
	free(pass->entries);
	free(pass->entry_parents.list);
	free(pass->waits.list);
	free(pass->nodes.list);
}

int invalidation_apply(struct view *view, const struct invalidation *invalidation,
		       const struct invalidation_sink *sink)
{
	CLEANUP(pass_deinit) struct pass pass = {.invalidation = invalidation, .sink = sink};
	int r = query_begin(&pass.query, view);

	if (r == 0)
		r = gather(&pass);
	query_end(&pass.query);
	if (r == 0)
		r = invalidate_entries(&pass);
	if (r < 0)
		return r;
	invalidate_nodes(&pass);
	return event_lines_add(view, invalidation);
}
