/* SPDX-License-Identifier: MIT */
#include "choose/similar_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/sort.h"
#include "base/stop.h"
#include "choose/filter.h"
#include "choose/report.h"
#include "index/query.h"
#include "index/scan.h"

/* ---- similar tree --------------------------------------------------------------------------- */

#define NO_DIR UINT32_MAX

/* A directory that has no number yet. */
struct similar_entry {
	uint64_t id, parent_id;
	size_t name; /* offset in the names */
	uint32_t length; /* of the name */
	uint32_t source;
	uint32_t parent; /* its place in the list; NO_DIR: a source */
	uint32_t first; /* its first child, as a place in `order`; NO_DIR: none */
	uint32_t number;
};

struct maker {
	struct similar_entry *list; /* in the order of ids */
	size_t count, capacity;
	struct bytes names;
	uint32_t *order; /* places in the list, by parent and name */
};

void similar_tree_free(struct similar_tree *tree)
{
	free(tree->list);
	free(tree->by_id);
	*tree = (struct similar_tree){0};
}

/* ---- reading -------------------------------------------------------------------------------- */

static int add_entry(struct maker *maker, const struct dir_record *dir)
{
	int r = array_reserve(&maker->list, &maker->capacity, maker->count + 1,
			      sizeof(*maker->list));

	if (r == 0 && maker->count >= NO_DIR - 1)
		r = -EOVERFLOW;
	if (r < 0)
		return r;
	maker->list[maker->count++] = (struct similar_entry){
		.id = dir->id,
		.parent_id = dir->parent,
		.name = maker->names.length,
		.length = dir->name.length,
		.source = dir->source,
		.parent = NO_DIR,
		.first = NO_DIR,
	};
	return bytes_append(&maker->names, dir->name.bytes, dir->name.length);
}

static int read_entries(struct maker *maker, struct catalog_reader *reader)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct dir_record dir;
	int r = catalog_scan_dirs(reader, &scan);

	while (r == 0 && (r = catalog_next_dir(scan, &dir)) == 0)
		r = add_entry(maker, &dir);
	return r == -ENOENT && scan ? 0 : r;
}

static int compare_ids(const void *left, const void *right)
{
	const struct similar_entry *a = left;
	const struct similar_entry *b = right;

	return numbers_compare(a->id, b->id);
}

static int find_parents(struct maker *maker)
{
	for (size_t i = 0; i < maker->count; i++) {
		struct similar_entry *entry = &maker->list[i];
		const struct similar_entry key = {.id = entry->parent_id};
		const struct similar_entry *parent;

		if (entry->parent_id == 0)
			continue;
		parent = bsearch(&key, maker->list, maker->count, sizeof(key), compare_ids);
		if (!parent)
			return -EUCLEAN;
		entry->parent = (uint32_t)(parent - maker->list);
	}
	return 0;
}

/* ---- the order ------------------------------------------------------------------------------ */

/* Compares by parent and name. The sources come last, in their order. For qsort_r(3). */
static int compare_places(const void *left, const void *right, void *context)
{
	const struct maker *maker = context;
	const struct similar_entry *a = &maker->list[*(const uint32_t *)left];
	const struct similar_entry *b = &maker->list[*(const uint32_t *)right];
	size_t common = a->length < b->length ? a->length : b->length;
	int order = numbers_compare(a->parent, b->parent);

	if (order == 0 && a->parent == NO_DIR)
		return numbers_compare(a->source, b->source);
	if (order == 0 && common > 0)
		order = memcmp(maker->names.data + a->name, maker->names.data + b->name, common);
	return order != 0 ? order : numbers_compare(a->length, b->length);
}

/* Sorts the directories. Returns the place in `order` of the first source, or -ENOMEM. */
static long sort_entries(struct maker *maker)
{
	long sources = (long)maker->count;

	maker->order = calloc(maker->count + 1, sizeof(*maker->order));
	if (!maker->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < maker->count; i++)
		maker->order[i] = i;
	qsort_r(maker->order, maker->count, sizeof(*maker->order), compare_places, maker);
	for (size_t i = maker->count; i-- > 0;) {
		uint32_t parent = maker->list[maker->order[i]].parent;

		if (parent == NO_DIR)
			sources = (long)i;
		else
			maker->list[parent].first = (uint32_t)i;
	}
	return sources;
}

/* ---- numbers -------------------------------------------------------------------------------- */

static void number_dir(struct similar_tree *tree, struct maker *maker, uint32_t place)
{
	struct similar_entry *entry = &maker->list[place];

	entry->number = tree->count++;
	tree->list[entry->number] = (struct similar_dir){
		.id = entry->id,
		.source = entry->source,
	};
	if (entry->parent != NO_DIR) {
		struct similar_dir *dir = &tree->list[entry->number];

		dir->parent = maker->list[entry->parent].number;
		dir->depth = tree->list[dir->parent].depth + 1;
	}
}

/* Numbers each directory before those in it. at: of the first source, in `order` */
static void number_dirs(struct similar_tree *tree, struct maker *maker, size_t at)
{
	/* The next child of the directories above the present one: `first` moves on. */
	uint32_t above = NO_DIR;

	for (;;) {
		uint32_t next = above == NO_DIR ? (uint32_t)at : maker->list[above].first;

		if (next < maker->count && maker->list[maker->order[next]].parent == above) {
			if (above == NO_DIR)
				at++;
			else
				maker->list[above].first++;
			above = maker->order[next];
			number_dir(tree, maker, above);
		} else if (above == NO_DIR) {
			break;
		} else {
			tree->list[maker->list[above].number].last = tree->count - 1;
			above = maker->list[above].parent;
		}
	}
	tree->list[0].last = tree->count - 1;
}

static int make(struct similar_tree *tree, struct maker *maker, struct catalog_reader *reader)
{
	long sources = 0;
	int r = read_entries(maker, reader);

	if (r == 0)
		r = find_parents(maker);
	if (r == 0)
		sources = sort_entries(maker);
	if (r < 0 || sources < 0)
		return r < 0 ? r : (int)sources;
	tree->list = calloc(maker->count + 1, sizeof(*tree->list));
	tree->by_id = calloc(maker->count + 1, sizeof(*tree->by_id));
	if (!tree->list || !tree->by_id)
		return -ENOMEM;
	tree->count = 1;
	number_dirs(tree, maker, (size_t)sources);
	if (tree->count != maker->count + 1)
		return -EUCLEAN; /* a cycle */
	for (size_t i = 0; i < maker->count; i++)
		tree->by_id[i] = maker->list[i].number;
	return 0;
}

int similar_tree_make(struct similar_tree *tree, struct catalog_reader *reader)
{
	struct maker maker = {0};
	int r = make(tree, &maker, reader);

	free(maker.list);
	free(maker.order);
	bytes_free(&maker.names);
	return r;
}

/* ---- queries -------------------------------------------------------------------------------- */

/* Sets *number to that of a directory. Returns 0, or -EUCLEAN if there is no such directory. */
static int find_number(const struct similar_tree *tree, uint64_t id, uint32_t *number)
{
	size_t low = 0, high = tree->count - 1;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tree->list[tree->by_id[middle]].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == tree->count - 1 || tree->list[tree->by_id[low]].id != id)
		return -EUCLEAN;
	*number = tree->by_id[low];
	return 0;
}

uint32_t similar_tree_meet(const struct similar_tree *tree, uint32_t a, uint32_t b)
{
	while (!similar_tree_contains(tree, a, b))
		a = tree->list[a].parent;
	return a;
}

void similar_tree_add_up(struct similar_tree *tree)
{
	for (uint32_t i = tree->count; i-- > 1;) {
		const struct similar_dir *dir = &tree->list[i];
		struct similar_dir *parent = &tree->list[dir->parent];

		parent->contents += dir->contents;
		parent->bytes += dir->bytes;
		parent->inner += dir->inner;
		parent->common += dir->common;
	}
}

/* ---- contents ------------------------------------------------------------------------------- */

struct content_pass {
	const struct report *report;
	const struct similar_tree *tree;
	similar_content_fn *take;
	void *context;
	uint32_t *dirs; /* of the present content */
	size_t count, capacity;
	uint32_t last; /* the last directory that was found: most names follow one of the same */
};

static bool has_size(const struct content_pass *reading, uint64_t size)
{
	const struct filter *filter = reading->report->filter;

	return size > 0 && size >= filter->min_size && size <= filter->max_size;
}

/* ---- names ---------------------------------------------------------------------------------- */

static int add_name(struct content_pass *reading, uint64_t dir, uint64_t cookie)
{
	const struct report *report = reading->report;
	bool excluded;
	int r = filter_excludes_entry(report->filter, report->reader, dir, cookie, &excluded);

	if (r < 0 || excluded)
		return r;
	if (reading->tree->list[reading->last].id != dir)
		r = find_number(reading->tree, dir, &reading->last);
	if (r == 0)
		r = array_reserve(&reading->dirs, &reading->capacity, reading->count + 1,
				  sizeof(*reading->dirs));
	if (r == 0)
		reading->dirs[reading->count++] = reading->last;
	return r;
}

static int add_names(struct content_pass *reading, const struct file_record *file)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t dir, cookie;
	int r;

	if (file->names <= 1)
		return file->names == 0 ? 0 : add_name(reading, file->dir, file->cookie);
	r = catalog_scan_names(reading->report->reader, file, &scan);
	while (r == 0 && (r = catalog_next_name(scan, &dir, &cookie)) == 0)
		r = add_name(reading, dir, cookie);
	return r == -ENOENT && scan ? 0 : r;
}

static int compare_dirs(const void *left, const void *right)
{
	const uint32_t *a = left;
	const uint32_t *b = right;

	return numbers_compare(*a, *b);
}

/* Ends a content. */
static int take_content(struct content_pass *reading, uint64_t size)
{
	struct similar_content content = {.size = size, .dirs = reading->dirs};

	if (stop_requested())
		return -EINTR;
	sort_unless_sorted(reading->dirs, reading->count, sizeof(*reading->dirs), compare_dirs);
	for (size_t i = 0; i < reading->count; i++) {
		if (i == 0 || reading->dirs[i] != reading->dirs[content.count - 1])
			reading->dirs[content.count++] = reading->dirs[i];
	}
	reading->count = 0;
	return content.count > 0 ? reading->take(reading->context, &content) : 0;
}

/* ---- groups --------------------------------------------------------------------------------- */

static int read_group(struct content_pass *reading, const struct group_record *group)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	uint64_t id;
	int r = catalog_scan_members(reading->report->reader, group->id, 0, &scan);

	while (r == 0 && (r = catalog_next_member(scan, &id)) == 0) {
		r = catalog_get_file_name(reading->report->reader, id, &file);
		if (r == 0)
			r = add_names(reading, &file);
		else if (r == -ENOENT)
			r = -EUCLEAN;
	}
	return r == -ENOENT && scan ? take_content(reading, group->size) : r;
}

static int read_groups(struct content_pass *reading)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct group_record group;
	int r = catalog_scan_groups(reading->report->reader, 0, &scan);

	while (r == 0 && (r = catalog_next_group(scan, &group)) == 0) {
		if (has_size(reading, group.size))
			r = read_group(reading, &group);
	}
	return r == -ENOENT && scan ? 0 : r;
}

/* ---- other files ---------------------------------------------------------------------------- */

/* The contents of files in the order of their ids. */
struct cursor {
	struct catalog_scan *scan;
	uint64_t file; /* 0: before the first one, UINT64_MAX: after the last one */
	struct content_record content;
};

/* Sets *grouped to whether a file is a member of a group. The files must have rising ids. */
static int is_grouped(struct cursor *cursor, const struct catalog_totals *totals, uint64_t file,
		      bool *grouped)
{
	while (cursor->file < file) {
		int r = catalog_next_content(cursor->scan, &cursor->file, &cursor->content);

		if (r == -ENOENT)
			cursor->file = UINT64_MAX;
		else if (r < 0)
			return r;
	}
	*grouped =
		cursor->file == file && cursor->content.group != 0 && !catalog_defers(totals, file);
	return 0;
}

static int read_file(struct content_pass *reading, struct cursor *cursor,
		     const struct catalog_totals *totals, const struct file_record *file)
{
	bool grouped;
	int r;

	if (!S_ISREG(file->attributes.mode) || !has_size(reading, file->attributes.size))
		return 0;
	r = is_grouped(cursor, totals, file->id, &grouped);
	if (r < 0 || grouped)
		return r;
	r = add_names(reading, file);
	return r < 0 ? r : take_content(reading, file->attributes.size);
}

static int read_files(struct content_pass *reading)
{
	struct catalog_reader *reader = reading->report->reader;
	CLEANUP_SCAN struct catalog_scan *contents = NULL;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct catalog_totals totals;
	struct cursor cursor = {0};
	struct file_record file;
	int r = catalog_get_totals(reader, &totals);

	if (r == 0)
		r = catalog_scan_contents(reader, 0, &contents);
	cursor.scan = contents;
	if (r == 0)
		r = catalog_scan_files(reader, 0, &scan);
	while (r == 0 && (r = catalog_next_file(scan, &file)) == 0)
		r = read_file(reading, &cursor, &totals, &file);
	return r == -ENOENT && scan ? 0 : r;
}

int similar_read_contents(const struct report *report, const struct similar_tree *tree,
			  similar_content_fn *take, void *context)
{
	struct content_pass reading = {.report = report,
				       .tree = tree,
				       .take = take,
				       .context = context};
	int r = read_groups(&reading);

	if (r == 0)
		r = read_files(&reading);
	free(reading.dirs);
	return r;
}
