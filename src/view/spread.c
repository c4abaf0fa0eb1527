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
#include "base/group_name.h"
#include "base/numbers.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "source/source.h"
#include "view/event_lines.h"
#include "view/node.h"
#include "view/notice.h"
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

struct spread {
	struct view_query query;
	const struct view_notice *notice;
	const struct view_sink *sink;
	size_t news; /* since the piece began */
	bool reached; /* programs may come to the file at hand by a name */
	bool moved; /* a directory has another path */
	struct arena names;
	struct entry *entries;
	size_t entry_count, entry_capacity;
	struct node_list entered; /* parents of entries that were told */
	struct node_list settle;
	struct node_list nodes;
};

static bool holds(const struct spread *spread, uint64_t node)
{
	return spread->sink->holds(spread->sink->context, node);
}

/* ---- gathering ----------------------------------------------------------------------- */

static int list_add(struct node_list *list, uint64_t node)
{
	if (list->count && list->list[list->count - 1] == node)
		return 0;
	if (list->count == list->capacity) {
		size_t wanted = list->capacity ? list->capacity * 2 : 64;
		void *grown = reallocarray(list->list, wanted, sizeof(*list->list));

		if (!grown)
			return -ENOMEM;
		list->list = grown;
		list->capacity = wanted;
	}
	list->list[list->count++] = node;
	return 0;
}

/* Name stays where it is until the piece ends. */
static int add_entry(struct spread *spread, uint64_t parent, const char *name, size_t length)
{
	if (spread->entry_count == spread->entry_capacity) {
		size_t wanted = spread->entry_capacity ? spread->entry_capacity * 2 : 64;
		void *grown = reallocarray(spread->entries, wanted, sizeof(*spread->entries));

		if (!grown)
			return -ENOMEM;
		spread->entries = grown;
		spread->entry_capacity = wanted;
	}
	spread->entries[spread->entry_count++] = (struct entry){parent, name, length};
	return 0;
}

static int add_entry_copy(struct spread *spread, uint64_t parent, const char *name, size_t length)
{
	const char *copy = arena_copy(&spread->names, name, length);

	return copy ? add_entry(spread, parent, copy, length) : -ENOMEM;
}

/* The attributes of a node, which programs come to through parent. */
static int add_node_in(struct spread *spread, uint64_t node, uint64_t parent)
{
	int r = 0;

	if (holds(spread, parent))
		r = list_add(&spread->settle, parent);
	return r < 0 ? r : list_add(&spread->nodes, node);
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

static int tell_entries(struct spread *spread)
{
	const struct entry *before = NULL;
	int r = 0;

	if (spread->entry_count)
		qsort(spread->entries, spread->entry_count, sizeof(*spread->entries),
		      compare_entries);
	for (size_t i = 0; i < spread->entry_count && r == 0; i++) {
		const struct entry *entry = &spread->entries[i];

		if (before && compare_entries(before, entry) == 0)
			continue;
		spread->sink->entry(spread->sink->context, entry->parent, entry->name,
				    entry->length);
		r = list_add(&spread->entered, entry->parent);
		before = entry;
	}
	spread->entry_count = 0;
	arena_reset(&spread->names);
	return r;
}

/* What an entry was told of is waited for already. */
static void tell_nodes(struct spread *spread)
{
	const struct view_sink *sink = spread->sink;
	size_t entered = 0;

	list_sort(&spread->entered);
	list_sort(&spread->settle);
	list_sort(&spread->nodes);
	for (size_t i = 0; i < spread->settle.count; i++) {
		uint64_t node = spread->settle.list[i];

		while (entered < spread->entered.count && spread->entered.list[entered] < node)
			entered++;
		if (entered == spread->entered.count || spread->entered.list[entered] != node)
			sink->settle(sink->context, node);
	}
	for (size_t i = 0; i < spread->nodes.count; i++)
		sink->node(sink->context, spread->nodes.list[i]);
	if (spread->moved)
		sink->copies(sink->context);
}

/* Ends the piece when it is large enough; called after each of the news. */
static int end_piece(struct spread *spread)
{
	struct view *view = spread->query.view;
	int r;

	if (++spread->news < PIECE_NEWS && spread->entry_count < PIECE_ENTRIES)
		return 0;
	spread->news = 0;
	query_end(&spread->query);
	r = tell_entries(spread);
	return r < 0 ? r : query_begin(&spread->query, view);
}

/* ---- what the news mean -------------------------------------------------------------- */

/* News of what is gone since, or cannot be read any more, mean nothing more than what is told of
 * its names. */
static int forgive(int result)
{
	return result == -ENOENT || result == -EUCLEAN ? 0 : result;
}

static int spread_name(struct spread *spread, const struct news_name *name, enum node_kind tree)
{
	const char *text = spread->notice->news.text + name->offset;
	uint64_t parent = node_make(tree, name->dir);
	int r;

	listing_times_renew(&spread->query.view->times, parent, spread->notice->time);
	if (!holds(spread, parent))
		return 0;
	r = add_entry(spread, parent, text, name->length);
	return r < 0 ? r : list_add(&spread->nodes, parent);
}

static int spread_names(struct spread *spread)
{
	const struct catalog_news *news = &spread->notice->news;
	int r = 0;

	for (size_t i = 0; i < news->name_count && r == 0; i++) {
		for (size_t tree = 0; tree < ARRAY_SIZE(trees) && r == 0; tree++)
			r = spread_name(spread, &news->names[i], trees[tree]);
		if (r == 0)
			r = end_piece(spread);
	}
	return r;
}

static uint64_t parent_of(const struct spread *spread, const struct dir_record *dir,
			  enum node_kind tree)
{
	if (dir->parent)
		return node_make(tree, dir->parent);
	if (spread->query.view->sources->count == 1)
		return FIXED_ROOT;
	return tree == NODE_DIR ? FIXED_UNIQUES : FIXED_REDUNDANT;
}

static int spread_dir_in(struct spread *spread, const struct dir_record *dir, enum node_kind tree)
{
	uint64_t node = node_make(tree, dir->id), parent = parent_of(spread, dir, tree);

	if (!holds(spread, node) && !holds(spread, parent))
		return 0;
	return add_node_in(spread, node, parent);
}

static int spread_gone_dir(struct spread *spread, uint64_t node)
{
	return holds(spread, node) ? list_add(&spread->nodes, node) : 0;
}

static int spread_dir(struct spread *spread, uint64_t id)
{
	struct dir_record dir;
	int r = catalog_get_dir(spread->query.reader, id, &dir);
	bool gone = r == -ENOENT;

	if (r < 0 && !gone)
		return forgive(r);
	r = 0;
	for (size_t tree = 0; tree < ARRAY_SIZE(trees) && r == 0; tree++)
		r = gone ? spread_gone_dir(spread, node_make(trees[tree], id))
			 : spread_dir_in(spread, &dir, trees[tree]);
	return r;
}

static int spread_dirs(struct spread *spread)
{
	const struct catalog_news *news = &spread->notice->news;
	int r = 0;

	for (size_t i = 0; i < news->dir_count && r == 0; i++) {
		spread->moved |= news->dirs[i].moved;
		r = spread_dir(spread, news->dirs[i].dir);
		if (r == 0)
			r = end_piece(spread);
	}
	return r;
}

/* What has to be done where a file has a name; parent is the directory in either tree. */
typedef int place_fn(struct spread *spread, uint64_t parent, const struct entry_record *entry);

static int do_place(struct spread *spread, uint64_t dir, uint64_t cookie, place_fn *place)
{
	struct entry_record entry = {0};
	int r = 0;

	for (size_t tree = 0; tree < ARRAY_SIZE(trees) && r == 0; tree++) {
		uint64_t parent = node_make(trees[tree], dir);

		if (!holds(spread, parent))
			continue;
		spread->reached = true;
		if (!entry.kind)
			r = catalog_entry_at(spread->query.reader, dir, cookie, &entry);
		if (r == 0)
			r = place(spread, parent, &entry);
	}
	return r;
}

static int for_each_name(struct spread *spread, const struct file_record *file, place_fn *place)
{
	struct catalog_scan *scan CLEANUP_SCAN = NULL;
	uint64_t dir, cookie;
	int r;

	if (file->names == 0)
		return 0;
	r = catalog_scan_names(spread->query.reader, file, &scan);
	while (r == 0 && (r = catalog_next_name(scan, &dir, &cookie)) == 0)
		r = do_place(spread, dir, cookie, place);
	return forgive(r);
}

/* The name means another node. */
static int rename_place(struct spread *spread, uint64_t parent, const struct entry_record *entry)
{
	return add_entry_copy(spread, parent, entry->name.bytes, entry->name.length);
}

/* It is the same node with other attributes. */
static int settle_place(struct spread *spread, uint64_t parent, const struct entry_record *entry)
{
	(void)entry;
	return list_add(&spread->settle, parent);
}

/* The listing of a directory has changed, which nothing in the source says. */
static int renew_listing(struct spread *spread, uint64_t node)
{
	int r = listing_times_set(&spread->query.view->times, node, spread->notice->time);

	return r < 0 ? r : list_add(&spread->nodes, node);
}

/* The name appears or disappears. */
static int list_place(struct spread *spread, uint64_t parent, const struct entry_record *entry)
{
	int r = rename_place(spread, parent, entry);

	return r < 0 ? r : renew_listing(spread, parent);
}

/* Programs also come to a copy through its group's folder, whose names the kernel does not keep;
 * but the listing it does, and there the file may have got or lost a name. */
static int settle_group(struct spread *spread, uint64_t file, bool listed_anew)
{
	struct content_record content;
	int r = catalog_get_content(spread->query.reader, file, &content);
	uint64_t folder;

	if (r < 0 || content.group == 0)
		return forgive(r);
	folder = node_make(NODE_GROUP, content.group);
	if (!holds(spread, folder))
		return 0;
	spread->reached = true;
	r = list_add(&spread->settle, folder);
	return r < 0 || !listed_anew ? r : list_add(&spread->nodes, folder);
}

/* A file whose content may have changed is another node now, and its names lead to it. (Of what is
 * no regular file the news do not say so.) Of one with other attributes, whoever looks it up in
 * this moment notes the directory first and the file after: so either counts. The version before is
 * told, too: it may be open, and its attributes are gone. */
static int spread_file(struct spread *spread, const struct news_file *news)
{
	struct file_record file;
	bool held = holds(spread, node_make(NODE_FILE, news->file));
	bool other_node;
	int r = catalog_get_file(spread->query.reader, news->file, &file);

	if (r < 0)
		return forgive(r);
	if ((news->what & ~(uint32_t)NEWS_FILE_FEWER) == NEWS_FILE_NAMES)
		return settle_group(spread, file.id, true);
	other_node = news->what & NEWS_FILE_UNREAD || !S_ISREG(file.attributes.mode);
	spread->reached = false;
	r = for_each_name(spread, &file, other_node ? rename_place : settle_place);
	if (r == 0)
		r = settle_group(spread, file.id, news->what & NEWS_FILE_NAMES);
	if (news->what & NEWS_FILE_ATTRIBUTES)
		held = held || spread->reached;
	if (r < 0 || !held)
		return r;
	r = list_add(&spread->nodes, node_make_file(file.id, file.touches));
	return r < 0 ? r : list_add(&spread->nodes, node_make_file(file.id, file.touches - 1));
}

static int spread_files(struct spread *spread)
{
	const struct catalog_news *news = &spread->notice->news;
	int r = 0;

	for (size_t i = 0; i < news->file_count && r == 0; i++) {
		r = spread_file(spread, &news->files[i]);
		if (r == 0)
			r = end_piece(spread);
	}
	return r;
}

static int spread_flips(struct spread *spread)
{
	const struct catalog_news *news = &spread->notice->news;
	struct file_record file;
	int r = 0;

	for (size_t i = 0; i < news->flip_count && r == 0; i++) {
		r = catalog_get_file(spread->query.reader, news->flips[i].file, &file);
		if (r == 0)
			r = for_each_name(spread, &file, list_place);
		r = forgive(r);
		if (r == 0)
			r = end_piece(spread);
	}
	return r;
}

/* A directory comes to redundant/ or goes from there. */
static int spread_holder(struct spread *spread, uint64_t id)
{
	const struct sources *sources = spread->query.view->sources;
	struct dir_record dir;
	uint64_t parent;
	int r = catalog_get_dir(spread->query.reader, id, &dir);

	if (r < 0 || dir.source >= sources->count)
		return forgive(r);
	parent = parent_of(spread, &dir, NODE_REDUNDANT);
	if (parent == FIXED_ROOT || !holds(spread, parent))
		return 0;
	if (dir.parent == 0)
		dir.name = (struct name){sources->list[dir.source].tree,
					 (uint32_t)strlen(sources->list[dir.source].tree)};
	r = add_entry_copy(spread, parent, dir.name.bytes, dir.name.length);
	return r < 0 ? r : renew_listing(spread, parent);
}

static int spread_holders(struct spread *spread)
{
	const struct catalog_news *news = &spread->notice->news;
	int r = 0;

	for (size_t i = 0; i < news->holder_count && r == 0; i++) {
		r = spread_holder(spread, news->holders[i]);
		if (r == 0)
			r = end_piece(spread);
	}
	return r;
}

/* A folder in dups/ comes or goes. */
static int spread_folder(struct spread *spread, const struct group_record *group)
{
	char name[GROUP_NAME_SIZE];
	int r;

	group_name_make(name, group->hash, group->ordinal);
	r = add_entry_copy(spread, FIXED_DUPS, name, strlen(name));
	return r < 0 ? r : list_add(&spread->nodes, FIXED_DUPS);
}

static int spread_group(struct spread *spread, const struct news_group *news)
{
	const struct group_record *group = news->now.id ? &news->now : &news->before;
	uint64_t node = node_make(NODE_GROUP, group->id);
	bool in_dups = holds(spread, FIXED_DUPS);
	int r = 0;

	if (in_dups && group_is_visible(&news->before) != group_is_visible(&news->now))
		r = spread_folder(spread, group);
	if (r == 0 && (in_dups || holds(spread, node)))
		r = add_node_in(spread, node, FIXED_DUPS);
	return r;
}

static int spread_groups(struct spread *spread)
{
	const struct catalog_news *news = &spread->notice->news;
	int r = 0;

	for (size_t i = 0; i < news->group_count && r == 0; i++) {
		r = spread_group(spread, &news->groups[i]);
		if (r == 0)
			r = end_piece(spread);
	}
	return r;
}

/* by-size/ and all folders in it that were ever shown: any change may move ranks. */
static int spread_ranks(struct spread *spread)
{
	struct view *view = spread->query.view;
	struct catalog_totals totals;
	uint64_t folders;
	int r;

	if (!holds(spread, FIXED_ROOT) && !holds(spread, FIXED_BY_SIZE))
		return 0;
	r = add_node_in(spread, FIXED_BY_SIZE, FIXED_ROOT);
	if (r < 0 || !holds(spread, FIXED_BY_SIZE))
		return r;
	r = list_add(&spread->settle, FIXED_BY_SIZE);
	if (r == 0)
		r = catalog_get_totals(spread->query.reader, &totals);
	if (r < 0)
		return forgive(r);
	folders = ranking_show_folders(&view->ranking, rank_layout_of(totals.groups).folders);
	for (uint64_t i = 1; i <= folders && r == 0; i++) {
		r = list_add(&spread->settle, node_make(NODE_RANKS, i));
		if (r == 0)
			r = list_add(&spread->nodes, node_make(NODE_RANKS, i));
	}
	return r;
}

/* ---- all of it ----------------------------------------------------------------------- */

static int gather(struct spread *spread)
{
	int r = spread_names(spread);

	if (r == 0)
		r = spread_dirs(spread);
	if (r == 0)
		r = spread_files(spread);
	if (r == 0)
		r = spread_flips(spread);
	if (r == 0)
		r = spread_holders(spread);
	if (r == 0)
		r = spread_groups(spread);
	/* its time is that of the last commit */
	if (r == 0 && (holds(spread, FIXED_ROOT) || holds(spread, FIXED_DUPS)))
		r = add_node_in(spread, FIXED_DUPS, FIXED_ROOT);
	return r < 0 ? r : spread_ranks(spread);
}

static void spread_deinit(struct spread *spread)
{
	query_end(&spread->query);
	arena_free(&spread->names);
	free(spread->entries);
	free(spread->entered.list);
	free(spread->settle.list);
	free(spread->nodes.list);
}

int view_notice_spread(struct view *view, const struct view_notice *notice,
		       const struct view_sink *sink)
{
	CLEANUP(spread_deinit) struct spread spread = {.notice = notice, .sink = sink};
	int r = query_begin(&spread.query, view);

	if (r == 0)
		r = gather(&spread);
	query_end(&spread.query);
	if (r == 0)
		r = tell_entries(&spread);
	if (r < 0)
		return r;
	tell_nodes(&spread);
	return event_lines_add(view, notice);
}
