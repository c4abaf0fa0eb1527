/* SPDX-License-Identifier: MIT */
#include "report/similar_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/numbers.h"
#include "catalog/scan.h"

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

int similar_tree_find(const struct similar_tree *tree, uint64_t id, uint32_t *number)
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
