/* SPDX-License-Identifier: MIT */

/* What a notice means for names and nodes of the view.
 *
 * The news are gone through with a snapshot, in pieces; what has to be dropped is gathered, and
 * told when the snapshot has ended: the sink may block on a request that waits for the map to grow,
 * and the map waits for snapshots. Entries are told after each piece, what was waited for and nodes
 * at the end, when all entries are told.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/group_name.h"
#include "base/numbers.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "source/source.h"
#include "view/event_lines.h"
#include "view/invalidation.h"
#include "view/node.h"
#include "view/query.h"
#include "view/rank_name.h"

/* Where a directory of a source is shown. */
static const enum node_kind trees[] = {NODE_DIR, NODE_REDUNDANT};

/* News, or names to tell, after which a piece ends. */
#define PIECE_NEWS 4096
#define PIECE_ENTRIES 4096

struct entry {
	uint64_t parent;
	const char *name; /* in the notice or the arena */
	size_t length;
};

struct node_list {
	uint64_t *list;
	size_t count, capacity;
};

struct pass {
	struct view_query query;
	const struct invalidation *invalidation;
	const struct invalidation_sink *sink;
	size_t delta; /* since the piece began */
	bool reached; /* programs may come to the file at hand by a name */
	bool moved; /* a directory has another path */
	struct arena names;
	struct entry *entries;
	size_t entry_count, entry_capacity;
	struct node_list entered; /* parents of entries that were told */
	struct node_list settle;
	struct node_list nodes;
};

static bool holds(const struct pass *pass, uint64_t node)
{
	return pass->sink->holds(pass->sink->context, node);
}

/* ---- gathering ----------------------------------------------------------------------- */

static int list_add(struct node_list *list, uint64_t node)
{
	if (list->count && list->list[list->count - 1] == node)
		return 0;
	if (array_reserve(&list->list, &list->capacity, list->count + 1, sizeof(*list->list)) < 0)
		return -ENOMEM;
	list->list[list->count++] = node;
	return 0;
}

/* Name stays where it is until the piece ends. */
static int add_entry(struct pass *pass, uint64_t parent, const char *name, size_t length)
{
	int r = array_reserve(&pass->entries, &pass->entry_capacity, pass->entry_count + 1,
			      sizeof(*pass->entries));

	if (r == 0)
		pass->entries[pass->entry_count++] = (struct entry){parent, name, length};
	return r;
}

static int add_entry_copy(struct pass *pass, uint64_t parent, const char *name, size_t length)
{
	const char *copy = arena_copy(&pass->names, name, length);

	return copy ? add_entry(pass, parent, copy, length) : -ENOMEM;
}

/* The attributes of a node, which programs come to through parent. */
static int add_node_in(struct pass *pass, uint64_t node, uint64_t parent)
{
	int r = 0;

	if (holds(pass, parent))
		r = list_add(&pass->settle, parent);
	return r < 0 ? r : list_add(&pass->nodes, node);
}

/* ---- telling ------------------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
	const struct entry *first = a, *second = b;
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
	const struct entry *before = NULL;
	int r = 0;

	if (pass->entry_count)
		qsort(pass->entries, pass->entry_count, sizeof(*pass->entries), compare_entries);
	for (size_t i = 0; i < pass->entry_count && r == 0; i++) {
		const struct entry *entry = &pass->entries[i];

		if (before && compare_entries(before, entry) == 0)
			continue;
		pass->sink->entry(pass->sink->context, entry->parent, entry->name, entry->length);
		r = list_add(&pass->entered, entry->parent);
		before = entry;
	}
	pass->entry_count = 0;
	arena_reset(&pass->names);
	return r;
}

/* What an entry was told of is waited for already. */
static void invalidate_nodes(struct pass *pass)
{
	const struct invalidation_sink *sink = pass->sink;
	size_t entered = 0;

	list_sort(&pass->entered);
	list_sort(&pass->settle);
	list_sort(&pass->nodes);
	for (size_t i = 0; i < pass->settle.count; i++) {
		uint64_t node = pass->settle.list[i];

		while (entered < pass->entered.count && pass->entered.list[entered] < node)
			entered++;
		if (entered == pass->entered.count || pass->entered.list[entered] != node)
			sink->settle(sink->context, node);
	}
	for (size_t i = 0; i < pass->nodes.count; i++)
		sink->node(sink->context, pass->nodes.list[i]);
	if (pass->moved)
		sink->copies(sink->context);
}

/* Ends the piece when it is large enough; called after each of the news. */
static int end_piece(struct pass *pass)
{
	struct view *view = pass->query.view;
	int r;

	if (++pass->delta < PIECE_NEWS && pass->entry_count < PIECE_ENTRIES)
		return 0;
	pass->delta = 0;
	query_end(&pass->query);
	r = invalidate_entries(pass);
	return r < 0 ? r : query_begin(&pass->query, view);
}

/* ---- what the news mean -------------------------------------------------------------- */

/* News of what is gone since, or cannot be read any more, mean nothing more than what is told of
 * its names. */
static int forgive(int result)
{
	return result == -ENOENT || result == -EUCLEAN ? 0 : result;
}

static int invalidate_name(struct pass *pass, const struct delta_name *name, enum node_kind tree)
{
	const char *text = pass->invalidation->delta.text + name->offset;
	uint64_t parent = node_make(tree, name->dir);
	int r;

	listing_times_renew(&pass->query.view->times, parent, pass->invalidation->time);
	if (!holds(pass, parent))
		return 0;
	r = add_entry(pass, parent, text, name->length);
	return r < 0 ? r : list_add(&pass->nodes, parent);
}

static int invalidate_names(struct pass *pass)
{
	const struct commit_delta *delta = &pass->invalidation->delta;
	int r = 0;

	for (size_t i = 0; i < delta->name_count && r == 0; i++) {
		for (size_t tree = 0; tree < ARRAY_SIZE(trees) && r == 0; tree++)
			r = invalidate_name(pass, &delta->names[i], trees[tree]);
		if (r == 0)
			r = end_piece(pass);
	}
	return r;
}

static uint64_t parent_of(const struct pass *pass, const struct dir_record *dir,
			  enum node_kind tree)
{
	if (dir->parent)
		return node_make(tree, dir->parent);
	if (pass->query.view->sources->count == 1)
		return FIXED_ROOT;
	return tree == NODE_DIR ? FIXED_UNIQUES : FIXED_REDUNDANT;
}

static int invalidate_dir_in(struct pass *pass, const struct dir_record *dir, enum node_kind tree)
{
	uint64_t node = node_make(tree, dir->id), parent = parent_of(pass, dir, tree);

	if (!holds(pass, node) && !holds(pass, parent))
		return 0;
	return add_node_in(pass, node, parent);
}

static int invalidate_gone_dir(struct pass *pass, uint64_t node)
{
	return holds(pass, node) ? list_add(&pass->nodes, node) : 0;
}

static int invalidate_dir(struct pass *pass, uint64_t id)
{
	struct dir_record dir;
	int r = catalog_get_dir(pass->query.reader, id, &dir);
	bool gone = r == -ENOENT;

	if (r < 0 && !gone)
		return forgive(r);
	r = 0;
	for (size_t tree = 0; tree < ARRAY_SIZE(trees) && r == 0; tree++)
		r = gone ? invalidate_gone_dir(pass, node_make(trees[tree], id))
			 : invalidate_dir_in(pass, &dir, trees[tree]);
	return r;
}

static int invalidate_dirs(struct pass *pass)
{
	const struct commit_delta *delta = &pass->invalidation->delta;
	int r = 0;

	for (size_t i = 0; i < delta->dir_count && r == 0; i++) {
		pass->moved |= delta->dirs[i].moved;
		r = invalidate_dir(pass, delta->dirs[i].dir);
		if (r == 0)
			r = end_piece(pass);
	}
	return r;
}

/* What has to be done where a file has a name; parent is the directory in either tree. */
typedef int place_fn(struct pass *pass, uint64_t parent, const struct entry_record *entry);

static int do_place(struct pass *pass, uint64_t dir, uint64_t cookie, place_fn *place)
{
	struct entry_record entry = {0};
	int r = 0;

	for (size_t tree = 0; tree < ARRAY_SIZE(trees) && r == 0; tree++) {
		uint64_t parent = node_make(trees[tree], dir);

		if (!holds(pass, parent))
			continue;
		pass->reached = true;
		if (!entry.kind)
			r = catalog_entry_at(pass->query.reader, dir, cookie, &entry);
		if (r == 0)
			r = place(pass, parent, &entry);
	}
	return r;
}

static int for_each_name(struct pass *pass, const struct file_record *file, place_fn *place)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t dir, cookie;
	int r;

	if (file->names == 0)
		return 0;
	r = catalog_scan_names(pass->query.reader, file, &scan);
	while (r == 0 && (r = catalog_next_name(scan, &dir, &cookie)) == 0)
		r = do_place(pass, dir, cookie, place);
	return forgive(r);
}

/* The name means another node. */
static int rename_place(struct pass *pass, uint64_t parent, const struct entry_record *entry)
{
	return add_entry_copy(pass, parent, entry->name.bytes, entry->name.length);
}

/* It is the same node with other attributes. */
static int settle_place(struct pass *pass, uint64_t parent, const struct entry_record *entry)
{
	(void)entry;
	return list_add(&pass->settle, parent);
}

/* The listing of a directory has changed, which nothing in the source says. */
static int renew_listing(struct pass *pass, uint64_t node)
{
	int r = listing_times_set(&pass->query.view->times, node, pass->invalidation->time);

	return r < 0 ? r : list_add(&pass->nodes, node);
}

/* The name appears or disappears. */
static int list_place(struct pass *pass, uint64_t parent, const struct entry_record *entry)
{
	int r = rename_place(pass, parent, entry);

	return r < 0 ? r : renew_listing(pass, parent);
}

/* Programs also come to a copy through its group's folder, whose names the kernel does not keep;
 * but the listing it does, and there the file may have got or lost a name. */
static int settle_group(struct pass *pass, uint64_t file, bool listed_anew)
{
	struct content_record content;
	int r = catalog_get_content(pass->query.reader, file, &content);
	uint64_t folder;

	if (r < 0 || content.group == 0)
		return forgive(r);
	folder = node_make(NODE_GROUP, content.group);
	if (!holds(pass, folder))
		return 0;
	pass->reached = true;
	r = list_add(&pass->settle, folder);
	return r < 0 || !listed_anew ? r : list_add(&pass->nodes, folder);
}

/* A file whose content may have changed is another node now, and its names lead to it. (Of what is
 * no regular file the news do not say so.) Of one with other attributes, whoever looks it up in
 * this moment notes the directory first and the file after: so either counts. The version before is
 * told, too: it may be open, and its attributes are gone. */
static int invalidate_file(struct pass *pass, const struct delta_file *delta)
{
	struct file_record file;
	bool held = holds(pass, node_make(NODE_FILE, delta->file));
	bool other_node;
	int r = catalog_get_file(pass->query.reader, delta->file, &file);

	if (r < 0)
		return forgive(r);
	if ((delta->what & ~(uint32_t)DELTA_FILE_FEWER) == DELTA_FILE_NAMES)
		return settle_group(pass, file.id, true);
	other_node = delta->what & DELTA_FILE_UNREAD || !S_ISREG(file.attributes.mode);
	pass->reached = false;
	r = for_each_name(pass, &file, other_node ? rename_place : settle_place);
	if (r == 0)
		r = settle_group(pass, file.id, delta->what & DELTA_FILE_NAMES);
	if (delta->what & DELTA_FILE_ATTRIBUTES)
		held = held || pass->reached;
	if (r < 0 || !held)
		return r;
	r = list_add(&pass->nodes, node_make_file(file.id, file.touches));
	return r < 0 ? r : list_add(&pass->nodes, node_make_file(file.id, file.touches - 1));
}

static int invalidate_files(struct pass *pass)
{
	const struct commit_delta *delta = &pass->invalidation->delta;
	int r = 0;

	for (size_t i = 0; i < delta->file_count && r == 0; i++) {
		r = invalidate_file(pass, &delta->files[i]);
		if (r == 0)
			r = end_piece(pass);
	}
	return r;
}

static int invalidate_flips(struct pass *pass)
{
	const struct commit_delta *delta = &pass->invalidation->delta;
	struct file_record file;
	int r = 0;

	for (size_t i = 0; i < delta->redundancy_count && r == 0; i++) {
		r = catalog_get_file(pass->query.reader, delta->redundancy[i].file, &file);
		if (r == 0)
			r = for_each_name(pass, &file, list_place);
		r = forgive(r);
		if (r == 0)
			r = end_piece(pass);
	}
	return r;
}

/* A directory comes to redundant/ or goes from there. */
static int invalidate_holder(struct pass *pass, uint64_t id)
{
	const struct sources *sources = pass->query.view->sources;
	struct dir_record dir;
	uint64_t parent;
	int r = catalog_get_dir(pass->query.reader, id, &dir);

	if (r < 0 || dir.source >= sources->count)
		return forgive(r);
	parent = parent_of(pass, &dir, NODE_REDUNDANT);
	if (parent == FIXED_ROOT || !holds(pass, parent))
		return 0;
	if (dir.parent == 0)
		dir.name = (struct name){sources->list[dir.source].tree,
					 (uint32_t)strlen(sources->list[dir.source].tree)};
	r = add_entry_copy(pass, parent, dir.name.bytes, dir.name.length);
	return r < 0 ? r : renew_listing(pass, parent);
}

static int invalidate_holders(struct pass *pass)
{
	const struct commit_delta *delta = &pass->invalidation->delta;
	int r = 0;

	for (size_t i = 0; i < delta->holder_count && r == 0; i++) {
		r = invalidate_holder(pass, delta->holders[i]);
		if (r == 0)
			r = end_piece(pass);
	}
	return r;
}

/* A folder in dups/ comes or goes. */
static int invalidate_folder(struct pass *pass, const struct group_record *group)
{
	char name[GROUP_NAME_SIZE];
	int r;

	group_name_make(name, group->hash, group->ordinal);
	r = add_entry_copy(pass, FIXED_DUPS, name, strlen(name));
	return r < 0 ? r : list_add(&pass->nodes, FIXED_DUPS);
}

static int invalidate_group(struct pass *pass, const struct delta_group *delta)
{
	const struct group_record *group = delta->now.id ? &delta->now : &delta->before;
	uint64_t node = node_make(NODE_GROUP, group->id);
	bool in_dups = holds(pass, FIXED_DUPS);
	int r = 0;

	if (in_dups && group_is_visible(&delta->before) != group_is_visible(&delta->now))
		r = invalidate_folder(pass, group);
	if (r == 0 && (in_dups || holds(pass, node)))
		r = add_node_in(pass, node, FIXED_DUPS);
	return r;
}

static int invalidate_groups(struct pass *pass)
{
	const struct commit_delta *delta = &pass->invalidation->delta;
	int r = 0;

	for (size_t i = 0; i < delta->group_count && r == 0; i++) {
		r = invalidate_group(pass, &delta->groups[i]);
		if (r == 0)
			r = end_piece(pass);
	}
	return r;
}

/* by-size/ and all folders in it that were ever shown: any change may move ranks. */
static int invalidate_ranks(struct pass *pass)
{
	struct view *view = pass->query.view;
	struct catalog_totals totals;
	uint64_t folders;
	int r;

	if (!holds(pass, FIXED_ROOT) && !holds(pass, FIXED_BY_SIZE))
		return 0;
	r = add_node_in(pass, FIXED_BY_SIZE, FIXED_ROOT);
	if (r < 0 || !holds(pass, FIXED_BY_SIZE))
		return r;
	r = list_add(&pass->settle, FIXED_BY_SIZE);
	if (r == 0)
		r = catalog_get_totals(pass->query.reader, &totals);
	if (r < 0)
		return forgive(r);
	folders = ranking_show_folders(&view->ranking, rank_layout_of(totals.groups).folders);
	for (uint64_t i = 1; i <= folders && r == 0; i++) {
		r = list_add(&pass->settle, node_make(NODE_RANKS, i));
		if (r == 0)
			r = list_add(&pass->nodes, node_make(NODE_RANKS, i));
	}
	return r;
}

/* ---- all of it ----------------------------------------------------------------------- */

static int gather(struct pass *pass)
{
	int r = invalidate_names(pass);

	if (r == 0)
		r = invalidate_dirs(pass);
	if (r == 0)
		r = invalidate_files(pass);
	if (r == 0)
		r = invalidate_flips(pass);
	if (r == 0)
		r = invalidate_holders(pass);
	if (r == 0)
		r = invalidate_groups(pass);
	/* its time is that of the last commit */
	if (r == 0 && (holds(pass, FIXED_ROOT) || holds(pass, FIXED_DUPS)))
		r = add_node_in(pass, FIXED_DUPS, FIXED_ROOT);
	return r < 0 ? r : invalidate_ranks(pass);
}

static void invalidate_deinit(struct pass *pass)
{
	query_end(&pass->query);
	arena_free(&pass->names);
	free(pass->entries);
	free(pass->entered.list);
	free(pass->settle.list);
	free(pass->nodes.list);
}

int invalidation_apply(struct view *view, const struct invalidation *invalidation,
		       const struct invalidation_sink *sink)
{
	CLEANUP(invalidate_deinit) struct pass pass = {.invalidation = invalidation, .sink = sink};
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
