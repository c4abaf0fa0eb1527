/* SPDX-License-Identifier: MIT */
#include "page/tallies.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/numbers.h"
#include "base/sort.h"

#define DAY_SECONDS INT64_C(86400)
#define YEAR_SECONDS (DAY_SECONDS * 1461 / 4)

static const struct {
	int64_t seconds; /* upper bound, excluded */
	const char *name;
} ages_known[] = {
	[AGE_FUTURE] = {0, "in the future"},
	[AGE_DAY] = {DAY_SECONDS, "a day"},
	[AGE_WEEK] = {7 * DAY_SECONDS, "a week"},
	[AGE_MONTH] = {30 * DAY_SECONDS, "a month"},
	[AGE_QUARTER] = {91 * DAY_SECONDS, "3 months"},
	[AGE_YEAR] = {YEAR_SECONDS, "a year"},
	[AGE_2_YEARS] = {2 * YEAR_SECONDS, "2 years"},
	[AGE_5_YEARS] = {5 * YEAR_SECONDS, "5 years"},
	[AGE_10_YEARS] = {10 * YEAR_SECONDS, "10 years"},
	[AGE_OLDER] = {INT64_MAX, "more"},
};

enum age age_of(struct timespec then, struct timespec now)
{
	int64_t past;
	enum age age = AGE_DAY;

	if (__builtin_sub_overflow(clock_ns(now), clock_ns(then), &past))
		return AGE_OLDER; /* the time is hundreds of years before 1970 */
	if (past < 0)
		return AGE_FUTURE;
	while (age < AGE_OLDER && past / SECOND_NS >= ages_known[age].seconds)
		age++;
	return age;
}

const char *age_name(enum age age)
{
	return ages_known[age].name;
}

void ages_add(struct ages *ages, enum age age, uint64_t bytes)
{
	ages->files[age]++;
	ages->bytes[age] = size_add(ages->bytes[age], bytes);
}

/* ---- kinds ---------------------------------------------------------------------------------- */

void kinds_free(struct kinds *kinds)
{
	free(kinds->list);
	memset(kinds, 0, sizeof(*kinds));
}

void kind_name(char name[static KIND_NAME_MAX + 1], const char *file, size_t length)
{
	const char *dot = memrchr(file, '.', length);
	size_t count = dot && dot != file ? (size_t)(file + length - dot) - 1 : 0;
	bool has_letter = false;

	name[0] = '\0';
	if (count > KIND_NAME_MAX)
		return;
	for (size_t i = 0; i < count; i++) {
		char byte = dot[1 + i];
		char lower = (char)(byte | 0x20);
		bool letter = lower >= 'a' && lower <= 'z';

		if (!letter && !(byte >= '0' && byte <= '9')) {
			name[0] = '\0';
			return;
		}
		name[i] = letter ? lower : byte;
		has_letter |= letter;
	}
	name[has_letter ? count : 0] = '\0';
}

/* Returns the place of the first kind whose name is not before the given one. */
static size_t find_place(const struct kinds *kinds, const char *name)
{
	size_t low = 0;
	size_t high = kinds->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(kinds->list[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int find_kind(struct kinds *kinds, const char *name, struct kind **kind)
{
	size_t at = find_place(kinds, name);
	int r;

	*kind = kinds->list + at;
	if (at < kinds->count && strcmp(kinds->list[at].name, name) == 0)
		return 0;
	/* the last place is for files without an extension */
	if (kinds->count >= KINDS_MAX - 1 && *name != '\0')
		return find_kind(kinds, "", kind);
	r = array_reserve(&kinds->list, &kinds->capacity, kinds->count + 1, sizeof(*kinds->list));
	if (r < 0)
		return r;
	*kind = kinds->list + at;
	memmove(*kind + 1, *kind, (kinds->count++ - at) * sizeof(**kind));
	**kind = (struct kind){0};
	memcpy((*kind)->name, name, strlen(name));
	return 0;
}

int kinds_add_file(struct kinds *kinds, const char *name, uint64_t bytes)
{
	struct kind *kind;
	int r = find_kind(kinds, name, &kind);

	if (r == 0)
		kind->bytes = size_add(kind->bytes, bytes);
	return r;
}

int kinds_add_copy(struct kinds *kinds, const char *name, uint64_t bytes)
{
	struct kind *kind;
	int r = find_kind(kinds, name, &kind);

	if (r < 0)
		return r;
	kind->redundant = size_add(kind->redundant, bytes);
	kind->copies++;
	return 0;
}

static int compare_redundant(const void *left, const void *right)
{
	const struct kind *a = left;
	const struct kind *b = right;
	int by_bytes = numbers_compare(b->redundant, a->redundant);

	return by_bytes != 0 ? by_bytes : strcmp(a->name, b->name);
}

void kinds_rank(struct kinds *kinds)
{
	sort_unless_sorted(kinds->list, kinds->count, sizeof(*kinds->list), compare_redundant);
}

/* ---- folders -------------------------------------------------------------------------------- */

/* Highest number of levels of folders. More levels mean that a damaged index has a cycle. */
#define LEVELS_MAX 65536

void folders_free(struct folders *folders)
{
	free(folders->list);
	memset(folders, 0, sizeof(*folders));
}

/* ---- adding -------------------------------------------------------------------------------- */

static int compare_dirs(const void *left, const void *right)
{
	const struct folder_sum *a = left;
	const struct folder_sum *b = right;

	return numbers_compare(a->dir, b->dir);
}

static void add_sum(struct folder_sum *to, const struct folder_sum *from)
{
	to->bytes = size_add(to->bytes, from->bytes);
	to->files += from->files;
	to->folded_bytes = size_add(to->folded_bytes, from->folded_bytes);
}

/* Merges the sums so that each folder has one sum. */
static void combine(struct folders *folders)
{
	size_t kept = 0;

	sort_unless_sorted(folders->list, folders->count, sizeof(*folders->list), compare_dirs);
	for (size_t i = 1; i < folders->count; i++) {
		struct folder_sum *last = &folders->list[kept];
		const struct folder_sum *next = &folders->list[i];

		if (last->dir == next->dir) {
			add_sum(last, next);
		} else {
			folders->list[++kept] = *next;
		}
	}
	folders->count = folders->count > 0 ? kept + 1 : 0;
}

/* Adds each folder with fewer bytes than the given number to its parent. Sets *folded if any folder
 * was added. */
static int fold_below(struct folders *folders, const struct folders_map *map, uint64_t bytes,
		      bool *folded)
{
	*folded = false;
	for (size_t i = 0; i < folders->count; i++) {
		struct folder_sum *sum = &folders->list[i];
		uint64_t parent = 0;
		int r = 0;

		if (sum->bytes < bytes)
			r = map->parent(map->context, sum->dir, &parent);
		if (r < 0)
			return r;
		if (parent != 0) {
			sum->dir = parent;
			sum->folded_bytes = sum->bytes;
			*folded = true;
		}
	}
	if (*folded)
		combine(folders);
	return 0;
}

static int compare_bytes(const void *left, const void *right)
{
	const struct folder_sum *a = left;
	const struct folder_sum *b = right;

	return numbers_compare(a->bytes, b->bytes);
}

/* Returns the median of the folders' bytes. Changes their order. */
static uint64_t find_median(struct folders *folders)
{
	struct folder_sum *list = folders->list;

	assert(list);
	qsort(list, folders->count, sizeof(*list), compare_bytes);
	return list[folders->count / 2].bytes;
}

/* Folds the smaller folders into their parents until at most half of FOLDERS_MAX are left. */
static int shrink(struct folders *folders, const struct folders_map *map)
{
	size_t rounds = 0;
	bool folded = true;
	int r = 0;

	combine(folders);
	while (r == 0 && folded && folders->count > FOLDERS_MAX / 2) {
		uint64_t median = find_median(folders);

		r = fold_below(folders, map, median + (median < UINT64_MAX), &folded);
		if (r == 0 && !folded) /* all smaller folders are roots: fold the larger folders */
			r = fold_below(folders, map, UINT64_MAX, &folded);
		if (r == 0 && ++rounds > LEVELS_MAX)
			r = -EUCLEAN;
	}
	return r;
}

int folders_add(struct folders *folders, const struct folders_map *map, uint64_t dir,
		uint64_t bytes)
{
	int r = 0;

	if (folders->count > 0 && folders->list[folders->count - 1].dir == dir) {
		struct folder_sum *last = &folders->list[folders->count - 1];

		last->bytes = size_add(last->bytes, bytes);
		last->files++;
		return 0;
	}
	if (folders->count >= FOLDERS_MAX)
		r = shrink(folders, map);
	if (r == 0)
		r = array_reserve(&folders->list, &folders->capacity, folders->count + 1,
				  sizeof(*folders->list));
	if (r == 0)
		folders->list[folders->count++] =
			(struct folder_sum){.dir = dir, .bytes = bytes, .files = 1};
	return r;
}

int folders_finish(struct folders *folders, const struct folders_map *map, uint64_t bytes_min)
{
	size_t rounds = 0;
	bool folded = true;
	int r = 0;

	combine(folders);
	while (r == 0 && folded) {
		r = fold_below(folders, map, bytes_min, &folded);
		if (r == 0 && ++rounds > LEVELS_MAX)
			r = -EUCLEAN;
	}
	return r;
}

/* ---- the tree ------------------------------------------------------------------------------ */

/* A folder with its ancestors. */
struct chain {
	uint64_t dirs[FOLDERS_DEPTH_MAX]; /* from its source down; 0 after the last */
	struct folder_sum sum;
};

static int compare_chains(const void *left, const void *right)
{
	const struct chain *a = left;
	const struct chain *b = right;

	for (size_t i = 0; i < FOLDERS_DEPTH_MAX; i++) {
		if (a->dirs[i] != b->dirs[i])
			return numbers_compare(a->dirs[i], b->dirs[i]);
	}
	return 0;
}

static int count_levels(const struct folders_map *map, uint64_t dir, size_t *levels)
{
	int r = 0;

	for (*levels = 0; r == 0 && dir != 0; (*levels)++)
		r = *levels < LEVELS_MAX ? map->parent(map->context, dir, &dir) : -EUCLEAN;
	return r;
}

/* Fills in the chain of a folder. If the folder is deeper than FOLDERS_DEPTH_MAX, leaves out the
 * deeper levels and counts the folder as folded. */
static int make_chain(const struct folders_map *map, const struct folder_sum *sum,
		      struct chain *chain)
{
	uint64_t dir = sum->dir;
	size_t level;
	int r = count_levels(map, dir, &level);

	chain->sum = *sum;
	if (level > FOLDERS_DEPTH_MAX)
		chain->sum.folded_bytes = sum->bytes;
	while (r == 0 && level > 0) {
		level--;
		if (level < FOLDERS_DEPTH_MAX)
			chain->dirs[level] = dir;
		r = map->parent(map->context, dir, &dir);
	}
	return r;
}

/* Appends the nodes of a chain that the previous chain does not have. Returns the new count. */
static size_t append_chain(struct folder_node *list, size_t count, const struct chain *chain)
{
	size_t trail[FOLDERS_DEPTH_MAX + 1] = {0};
	size_t depth = list[count - 1].depth;
	size_t shared = 0;

	for (size_t at = count - 1; depth > 0; at = list[at].parent)
		trail[depth--] = at;
	while (shared < FOLDERS_DEPTH_MAX && chain->dirs[shared] != 0 && trail[shared + 1] != 0 &&
	       list[trail[shared + 1]].dir == chain->dirs[shared])
		shared++;
	for (; shared < FOLDERS_DEPTH_MAX && chain->dirs[shared] != 0; shared++) {
		list[count] = (struct folder_node){
			.dir = chain->dirs[shared],
			.parent = trail[shared],
			.depth = shared + 1,
		};
		trail[shared + 1] = count++;
	}
	add_sum(&list[trail[shared]].own, &chain->sum);
	return count;
}

/* Computes the sums of whole subtrees. Each node is after its parent in the list. */
static void add_up(struct folder_node *list, size_t count)
{
	for (size_t i = count; i-- > 0;) {
		add_sum(&list[i].whole, &list[i].own);
		if (i > 0)
			add_sum(&list[list[i].parent].whole, &list[i].whole);
	}
}

/* ---- the order of the tree ----------------------------------------------------------------- */

/* Lists of the children of each node, the largest first. All arrays are indexed by node. */
struct siblings {
	struct folder_node *list;
	size_t *order; /* node numbers, the smallest node first */
	size_t *first; /* the first child; 0: none */
	size_t *next; /* the next sibling; 0: none */
	size_t *place; /* index in the ordered list */
};

static int compare_nodes(const void *left, const void *right, void *context)
{
	const struct folder_node *list = context;
	const struct folder_node *a = &list[*(const size_t *)left];
	const struct folder_node *b = &list[*(const size_t *)right];
	int order = numbers_compare(a->whole.bytes, b->whole.bytes);

	return order != 0 ? order : numbers_compare(b->dir, a->dir);
}

/* Makes the lists of siblings. Nodes are prepended, the smallest node first, so that the largest
 * node is the head of its list. */
static void chain_siblings(struct siblings *siblings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		siblings->order[i] = i;
	qsort_r(siblings->order, count, sizeof(*siblings->order), compare_nodes, siblings->list);
	for (size_t i = 0; i < count; i++) {
		size_t node = siblings->order[i];
		size_t parent = siblings->list[node].parent;

		if (node == 0)
			continue;
		siblings->next[node] = siblings->first[parent];
		siblings->first[parent] = node;
	}
}

/* Returns the next node in the order of the tree, or 0 after the last node. */
static size_t next_node(const struct siblings *siblings, size_t node)
{
	if (siblings->first[node] != 0)
		return siblings->first[node];
	while (node != 0 && siblings->next[node] == 0)
		node = siblings->list[node].parent;
	return siblings->next[node];
}

static void put_in_order(const struct siblings *siblings, struct folder_node *ordered)
{
	size_t count = 0;
	size_t node = 0;

	do {
		ordered[count] = siblings->list[node];
		ordered[count].parent = siblings->place[ordered[count].parent];
		siblings->place[node] = count++;
		node = next_node(siblings, node);
	} while (node != 0);
}

/* Returns the nodes in preorder. Each node is before its descendants, and the largest sibling is
 * first. Takes the list. Returns NULL if there is no memory. */
static struct folder_node *order_tree(struct folder_node *list, size_t count)
{
	AUTO_FREE struct folder_node *unordered = list;
	AUTO_FREE size_t *numbers = calloc(count + 1, 4 * sizeof(*numbers));
	struct folder_node *ordered = calloc(count + 1, sizeof(*ordered));
	struct siblings siblings;

	if (!numbers || !ordered) {
		free(ordered);
		return NULL;
	}
	siblings = (struct siblings){unordered, numbers, numbers + count, numbers + 2 * count,
				     numbers + 3 * count};
	chain_siblings(&siblings, count);
	put_in_order(&siblings, ordered);
	return ordered;
}

/* Returns an upper bound of the number of nodes: one for all sources, and one for each folder of
 * each chain. */
static size_t count_nodes(const struct chain *chains, size_t count)
{
	size_t nodes = 1;

	for (size_t i = 0; i < count; i++) {
		for (size_t level = 0; level < FOLDERS_DEPTH_MAX; level++)
			nodes += chains[i].dirs[level] != 0;
	}
	return nodes;
}

int folders_tree(const struct folders *folders, const struct folders_map *map,
		 struct folder_node **list, size_t *count)
{
	AUTO_FREE struct chain *chains = calloc(folders->count + 1, sizeof(*chains));
	int r = chains ? 0 : -ENOMEM;

	for (size_t i = 0; i < folders->count && r == 0; i++)
		r = make_chain(map, &folders->list[i], &chains[i]);
	if (r < 0)
		return r;
	qsort(chains, folders->count, sizeof(*chains), compare_chains);
	*list = calloc(count_nodes(chains, folders->count), sizeof(**list));
	if (!*list)
		return -ENOMEM;
	*count = 1;
	for (size_t i = 0; i < folders->count; i++)
		*count = append_chain(*list, *count, &chains[i]);
	add_up(*list, *count);
	*list = order_tree(*list, *count);
	return *list ? 0 : -ENOMEM;
}
