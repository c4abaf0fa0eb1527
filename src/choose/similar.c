/* SPDX-License-Identifier: MIT */

/* The search has four steps, each of which reads what the one before sorted:
 *
 *	contents  → weights of pairs of directories that have files of one content themselves
 *	weights   → parts of the sums of all pairs of directories above them that can be similar
 *	sums      → pairs that are similar, and pairs that they make superfluous
 *	found     → the pairs to print, most shared bytes first
 */

#include "choose/similar.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "base/stop.h"
#include "choose/filter.h"
#include "choose/report.h"
#include "choose/rules.h"
#include "choose/sorter.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"

/* ---- directories ---------------------------------------------------------------------------- */

/* The directories of an index with sums of the contents in them.
 *
 * Directories are numbered in the order of their paths, from 1, so all directories below another
 * one have adjacent numbers. Number 0 contains all sources. One thread at a time. Takes 68 bytes
 * for each directory, and while it is made, as much again and their names. All zeros is an empty
 * tree.
 */

/* Each content counts once for a directory, however many files at any depth have it. Before
 * similar_tree_add_up(), the sums count only what was added to the directory itself. */
struct similar_dir {
	uint64_t id;
	uint64_t contents;
	uint64_t bytes; /* of the contents */
	uint64_t inner; /* bytes of contents that are nowhere outside of the directory */
	uint64_t common; /* bytes of contents that are in many directories */
	uint32_t parent;
	uint32_t last; /* the highest number in the directory */
	uint32_t source;
	uint32_t depth; /* 0: a source */
	uint32_t listed; /* its first pair in the list of the search; 0: none */
	bool fits; /* the filter selects it */
};

struct similar_tree {
	struct similar_dir *list;
	uint32_t count; /* number 0 included */
	uint32_t *by_id; /* numbers of all directories in the order of their ids */
};

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

static void similar_tree_free(struct similar_tree *tree)
{
	free(tree->list);
	free(tree->by_id);
	*tree = (struct similar_tree){0};
}

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
	int r = catalog_scan_dirs(reader, 0, &scan);

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

/* Compares by parent and name. The sources come last, in their order. For qsort_r(3). */
static int compare_entries(const void *left, const void *right, void *context)
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
	qsort_r(maker->order, maker->count, sizeof(*maker->order), compare_entries, maker);
	for (size_t i = maker->count; i-- > 0;) {
		uint32_t parent = maker->list[maker->order[i]].parent;

		if (parent == NO_DIR)
			sources = (long)i;
		else
			maker->list[parent].first = (uint32_t)i;
	}
	return sources;
}

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

/* Reads all directories. Returns 0 or -errno. */
static int similar_tree_make(struct similar_tree *tree, struct catalog_reader *reader)
{
	struct maker maker = {0};
	int r = make(tree, &maker, reader);

	free(maker.list);
	free(maker.order);
	bytes_free(&maker.names);
	return r;
}

/* Returns whether a directory is the same as another one, or contains it. */
static bool similar_tree_contains(const struct similar_tree *tree, uint32_t dir, uint32_t other)
{
	return dir <= other && other <= tree->list[dir].last;
}

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

/* Returns the lowest directory that contains both. */
static uint32_t similar_tree_meet(const struct similar_tree *tree, uint32_t a, uint32_t b)
{
	while (!similar_tree_contains(tree, a, b))
		a = tree->list[a].parent;
	return a;
}

/* Adds the sums of each directory to those of all directories above it. */
static void similar_tree_add_up(struct similar_tree *tree)
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

/* ---- sums of pairs -------------------------------------------------------------------------- */

/* Sums for pairs of directories. They are added from parts, and sorted by pair. One thread at a
 * time. Takes 1.5 MiB for the pairs of the last parts, and a sorter of 16 MiB for the others. All
 * zeros may be freed.
 */

/* Numbers that belong to a pair. They are added modulo 2^64, as parts can be negative. */
struct similar_sum {
	uint64_t pair; /* never 0 in what is added */
	uint64_t contents, bytes;
};

struct similar_sums {
	struct similar_sum *slots; /* parts that are not in the sorter yet, by a hash of the pair */
	struct sorter *sorter;
	struct similar_sum next; /* the next part that was read */
	int result; /* of reading it */
};

/* Highest number of bytes that each sorter sorts in memory. */
#define SORTER_BYTES (16UL << 20)

/* Number of pairs whose sums are in memory. Most pairs follow themselves many times, because the
 * files of two directories have them in common, so few parts of sums reach the sorter. */
#define SLOTS 65536

static void similar_sums_free(struct similar_sums *sums)
{
	free(sums->slots);
	sorter_free(sums->sorter);
	*sums = (struct similar_sums){0};
}

/* Returns 0 or -ENOMEM. */
static int similar_sums_begin(struct similar_sums *sums)
{
	sums->slots = calloc(SLOTS, sizeof(*sums->slots));
	return sums->slots ? sorter_new(&sums->sorter, SORTER_BYTES) : -ENOMEM;
}

static int move_to_sorter(struct similar_sums *sums, struct similar_sum *slot)
{
	const uint64_t key[] = {htobe64(slot->pair), htobe64(slot->bytes)};
	int r = slot->pair == 0 ? 0 : sorter_add(sums->sorter, key, sizeof(key), slot->contents);

	*slot = (struct similar_sum){0};
	return r;
}

/* Adds a part to the sum of a pair. Returns 0 or -errno. */
static int similar_sums_add(struct similar_sums *sums, const struct similar_sum *part)
{
	/* multiplicative hashing: Knuth, The Art of Computer Programming 3, 6.4 */
	uint64_t hash = part->pair * UINT64_C(0x9e3779b97f4a7c15);
	struct similar_sum *slot = &sums->slots[(hash >> 32) % SLOTS];
	int r = slot->pair == part->pair ? 0 : move_to_sorter(sums, slot);

	slot->pair = part->pair;
	slot->contents += part->contents;
	slot->bytes += part->bytes;
	return r;
}

static void read_next(struct similar_sums *sums)
{
	uint64_t key[2];

	sums->result = sorter_next_key(sums->sorter, key, sizeof(key), &sums->next.contents);
	if (sums->result < 0)
		return;
	sums->next.pair = be64toh(key[0]);
	sums->next.bytes = be64toh(key[1]);
}

/* Sorts the sums. After that, no part can be added. Returns 0 or -errno. */
static int similar_sums_finish(struct similar_sums *sums)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < SLOTS; i++)
		r = move_to_sorter(sums, &sums->slots[i]);
	free(TAKE(sums->slots));
	if (r == 0)
		r = sorter_finish(sums->sorter);
	if (r == 0)
		read_next(sums);
	return r;
}

/* Gets the next pair with its sum. Returns 0, -ENOENT at the end, -EINTR if stop_requested(), or
 * another -errno. */
static int similar_sums_next(struct similar_sums *sums, struct similar_sum *sum)
{
	if (stop_requested())
		return -EINTR;
	if (sums->result < 0)
		return sums->result;
	*sum = sums->next;
	for (read_next(sums); sums->result == 0 && sums->next.pair == sum->pair; read_next(sums)) {
		sum->contents += sums->next.contents;
		sum->bytes += sums->next.bytes;
	}
	return 0;
}

/* ---- contents that many have ---------------------------------------------------------------- */

/* A content. It belongs to a group of equal files, or to one inode. */
struct similar_content {
	uint64_t size; /* bytes, above 0 */
	/* the directories with a name of a file that has the content, each once, in their order */
	const uint32_t *dirs;
	size_t count; /* at least 1 */
};

/* The contents that many directories have: which of them two directories share. One thread at a
 * time. Takes 8 bytes for each directory of each content, and 20 bytes for each content. All zeros
 * is empty.
 */

struct similar_common {
	struct similar_place *places; /* sorted by directory in similar_common_finish() */
	size_t count, capacity;
	uint64_t *sizes; /* of the contents, by their numbers */
	size_t size_count, size_capacity;
	uint32_t first; /* the directory whose contents are marked in in_first */
	uint64_t pairs; /* number of the present pair */
	uint32_t *in_first; /* the last directory that had the content */
	uint64_t *in_both; /* the last pair that shared the content */
};

/* A directory of a content. */
struct similar_place {
	uint32_t dir;
	uint32_t content; /* number */
};

static void similar_common_free(struct similar_common *common)
{
	free(common->places);
	free(common->sizes);
	free(common->in_first);
	free(common->in_both);
	*common = (struct similar_common){0};
}

/* Adds a content. Returns 0 or -errno. */
static int similar_common_add(struct similar_common *common, const struct similar_content *content)
{
	int r = array_reserve(&common->sizes, &common->size_capacity, common->size_count + 1,
			      sizeof(*common->sizes));

	if (r == 0)
		r = array_reserve(&common->places, &common->capacity,
				  common->count + content->count, sizeof(*common->places));
	if (r == 0 && common->size_count == UINT32_MAX)
		r = -EOVERFLOW;
	if (r < 0)
		return r;
	for (size_t i = 0; i < content->count; i++)
		common->places[common->count++] = (struct similar_place){
			.dir = content->dirs[i],
			.content = (uint32_t)common->size_count,
		};
	common->sizes[common->size_count++] = content->size;
	return 0;
}

static int compare_places(const void *left, const void *right)
{
	const struct similar_place *a = left;
	const struct similar_place *b = right;

	return numbers_compare(a->dir, b->dir);
}

/* Must be called after all contents were added. Returns 0 or -ENOMEM. */
static int similar_common_finish(struct similar_common *common)
{
	sort_unless_sorted(common->places, common->count, sizeof(*common->places), compare_places);
	common->in_first = calloc(common->size_count + 1, sizeof(*common->in_first));
	common->in_both = calloc(common->size_count + 1, sizeof(*common->in_both));
	return common->in_first && common->in_both ? 0 : -ENOMEM;
}

/* Returns the first place in a directory with this number or a higher one. */
static size_t find_place(const struct similar_common *common, uint32_t dir)
{
	const struct similar_place wanted = {.dir = dir};

	return sorted_place(&wanted, common->places, common->count, sizeof(wanted), compare_places);
}

static void mark_first(struct similar_common *common, const struct similar_tree *tree, uint32_t dir)
{
	for (size_t i = find_place(common, dir);
	     i < common->count && common->places[i].dir <= tree->list[dir].last; i++)
		common->in_first[common->places[i].content] = dir;
	common->first = dir;
}

/* Adds the contents that two directories share, and their bytes. Linear in the places of b, and in
 * those of a unless it is that of the last call. */
static void similar_common_share(struct similar_common *common, const struct similar_tree *tree,
				 const uint32_t pair[static 2], uint64_t *contents, uint64_t *bytes)
{
	if (common->first != pair[0])
		mark_first(common, tree, pair[0]);
	common->pairs++;
	for (size_t i = find_place(common, pair[1]);
	     i < common->count && common->places[i].dir <= tree->list[pair[1]].last; i++) {
		uint32_t content = common->places[i].content;

		if (common->in_first[content] != pair[0] ||
		    common->in_both[content] == common->pairs)
			continue;
		common->in_both[content] = common->pairs;
		++*contents;
		*bytes += common->sizes[content];
	}
}

/* ---- the search ----------------------------------------------------------------------------- */

/* Highest number of directories that have a factor for one content: its directories, and those that
 * contain two that follow each other. */
#define FACTORS_MAX (2 * SIMILAR_DIRS_MAX - 1)

/* A pair that was printed, or left out because its folders are equal, in the list of those with the
 * same first directory. */
struct listed_pair {
	uint32_t second;
	uint32_t next; /* number of the next one; 0: none */
};

struct similar_finder {
	const struct report *report;
	struct similar_tree tree;
	struct similar_common common;
	struct size_sum total; /* bytes of all contents */
	struct similar_bounds bounds;
	struct similar_sums weights;
	struct similar_sums sums;
	struct sorter *found;
	struct listed_pair *listed; /* number 0 is not used */
	size_t listed_count, listed_capacity;
	uint64_t printed;
};

static uint64_t join(uint32_t first, uint32_t second)
{
	return (uint64_t)first << 32 | second;
}

static void split(uint64_t pair, uint32_t dirs[static 2])
{
	dirs[0] = (uint32_t)(pair >> 32);
	dirs[1] = (uint32_t)pair;
}

/* ---- one content ---------------------------------------------------------------------------- */

/* Adds a content to the sums of its directories, so that it counts once in each one above them. */
static void add_to_dirs(struct similar_finder *finder, const struct similar_content *content)
{
	struct similar_tree *tree = &finder->tree;
	const uint32_t *dirs = content->dirs;
	bool common = content->count > SIMILAR_DIRS_MAX;
	uint32_t all = similar_tree_meet(tree, dirs[0], dirs[content->count - 1]);

	for (size_t i = 0; i < content->count; i++) {
		struct similar_dir *dir = &tree->list[dirs[i]];
		struct similar_dir *twice;

		dir->contents++;
		dir->bytes += content->size;
		dir->common += common ? content->size : 0;
		if (i == 0)
			continue;
		twice = &tree->list[similar_tree_meet(tree, dirs[i - 1], dirs[i])];
		twice->contents--;
		twice->bytes -= content->size;
		twice->common -= common ? content->size : 0;
	}
	tree->list[all].inner += content->size;
}

struct factor {
	uint32_t dir;
	int64_t value;
};

static int compare_factors(const void *left, const void *right)
{
	const struct factor *a = left;
	const struct factor *b = right;

	return numbers_compare(a->dir, b->dir);
}

/* Returns the number of factors, one for each directory. */
static size_t find_factors(const struct similar_tree *tree, const struct similar_content *content,
			   struct factor factors[static FACTORS_MAX])
{
	const uint32_t *dirs = content->dirs;
	size_t count = 0, used = 0;

	for (size_t i = 0; i < content->count; i++) {
		factors[count++] = (struct factor){dirs[i], 1};
		if (i > 0)
			factors[count++] =
				(struct factor){similar_tree_meet(tree, dirs[i - 1], dirs[i]), -1};
	}
	qsort(factors, count, sizeof(*factors), compare_factors);
	for (size_t i = 1; i < count; i++) {
		if (factors[i].dir == factors[used].dir)
			factors[used].value += factors[i].value;
		else
			factors[++used] = factors[i];
	}
	return used + 1;
}

static bool are_apart(const struct similar_tree *tree, uint32_t low, uint32_t high)
{
	return !similar_tree_contains(tree, low, high);
}

static int add_weights(struct similar_finder *finder, const struct similar_content *content)
{
	struct factor factors[FACTORS_MAX];
	size_t count = find_factors(&finder->tree, content, factors);

	for (size_t i = 0; i < count; i++) {
		for (size_t j = i + 1; j < count; j++) {
			int64_t weight = factors[i].value * factors[j].value;
			const struct similar_sum sum = {
				.pair = join(factors[i].dir, factors[j].dir),
				.contents = (uint64_t)weight,
				.bytes = (uint64_t)weight * content->size,
			};
			int r = 0;

			if (weight != 0 && are_apart(&finder->tree, factors[i].dir, factors[j].dir))
				r = similar_sums_add(&finder->weights, &sum);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* Adds pairs of directories of a content that very many have. The pairs have no weight, because
 * similar_common_share() counts such contents. */
static int add_common(struct similar_finder *finder, const struct similar_content *content)
{
	int r = similar_common_add(&finder->common, content);

	finder->bounds.common++;
	for (size_t i = 0; i < content->count; i++) {
		for (size_t j = i + 1; j <= i + SIMILAR_NEXT_MAX && j < content->count; j++) {
			const struct similar_sum sum = {
				.pair = join(content->dirs[i], content->dirs[j])};

			if (r == 0 && are_apart(&finder->tree, content->dirs[i], content->dirs[j]))
				r = similar_sums_add(&finder->weights, &sum);
		}
	}
	return r;
}

static int take_content(struct similar_finder *finder, const struct similar_content *content)
{
	size_sum_add(&finder->total, content->size);
	if (finder->total.high > 0)
		return -EOVERFLOW;
	add_to_dirs(finder, content);
	return content->count > SIMILAR_DIRS_MAX ? add_common(finder, content)
						 : add_weights(finder, content);
}

/* ---- all contents --------------------------------------------------------------------------- */

struct content_pass {
	struct similar_finder *finder;
	uint32_t *dirs; /* of the present content */
	size_t count, capacity;
	uint32_t last; /* the last directory that was found: most names follow one of the same */
};

static bool has_size(const struct content_pass *reading, uint64_t size)
{
	const struct filter *filter = reading->finder->report->filter;

	return size > 0 && size >= filter->min_size && size <= filter->max_size;
}

static int add_name(struct content_pass *reading, uint64_t dir, uint64_t cookie)
{
	const struct report *report = reading->finder->report;
	bool excluded;
	int r = filter_excludes_entry(report->filter, report->reader, dir, cookie, &excluded);

	if (r < 0 || excluded)
		return r;
	if (reading->finder->tree.list[reading->last].id != dir)
		r = find_number(&reading->finder->tree, dir, &reading->last);
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
	r = catalog_scan_names(reading->finder->report->reader, file, &scan);
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
static int end_content(struct content_pass *reading, uint64_t size)
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
	return content.count > 0 ? take_content(reading->finder, &content) : 0;
}

static int read_group(struct content_pass *reading, const struct group_record *group)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	uint64_t id;
	int r = catalog_scan_members(reading->finder->report->reader, group->id, 0, &scan);

	while (r == 0 && (r = catalog_next_member(scan, &id)) == 0) {
		r = catalog_get_file_name(reading->finder->report->reader, id, &file);
		if (r == 0)
			r = add_names(reading, &file);
		else if (r == -ENOENT)
			r = -EUCLEAN;
	}
	return r == -ENOENT && scan ? end_content(reading, group->size) : r;
}

static int read_groups(struct content_pass *reading)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct group_record group;
	int r = catalog_scan_groups(reading->finder->report->reader, 0, &scan);

	while (r == 0 && (r = catalog_next_group(scan, &group)) == 0) {
		if (has_size(reading, group.size))
			r = read_group(reading, &group);
	}
	return r == -ENOENT && scan ? 0 : r;
}

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
	return r < 0 ? r : end_content(reading, file->attributes.size);
}

static int read_files(struct content_pass *reading)
{
	struct catalog_reader *reader = reading->finder->report->reader;
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

/* Takes each content that the sizes and --exclude of the report's filter leave. A file that was not
 * read, or that failed, is a content of its own. Linear in names and copies. Takes memory for the
 * directories of one content. Returns 0, -EINTR if stop_requested(), or another -errno. */
static int read_contents(struct similar_finder *finder)
{
	struct content_pass reading = {.finder = finder};
	int r = read_groups(&reading);

	if (r == 0)
		r = read_files(&reading);
	free(reading.dirs);
	return r;
}

/* ---- pairs that can be similar -------------------------------------------------------------- */

/* Returns the lowest number of shared bytes of similar directories, the larger of which has this
 * number of bytes. */
static uint64_t bytes_needed(const struct similar_finder *finder, uint64_t larger)
{
	unsigned int percent = finder->report->similar_percent;

	return larger / 100 * percent + (larger % 100 * percent + 99) / 100;
}

static uint64_t larger_bytes(const struct similar_dir *a, const struct similar_dir *b)
{
	return a->bytes > b->bytes ? a->bytes : b->bytes;
}

/* Returns the bytes of contents that are also outside of the directory. */
static uint64_t bytes_outside(const struct similar_dir *dir)
{
	return dir->bytes - dir->inner;
}

/* Returns whether the directory has enough contents of others to be similar to one of them. */
static bool has_similar(const struct similar_finder *finder, const struct similar_dir *dir)
{
	return dir->depth <= SIMILAR_DEPTH_MAX &&
	       bytes_outside(dir) >= bytes_needed(finder, dir->bytes);
}

/* a: has_similar() */
static bool can_be_similar(const struct similar_finder *finder, const struct similar_dir *a,
			   const struct similar_dir *b)
{
	uint64_t needed = bytes_needed(finder, larger_bytes(a, b));

	if (!a->fits && !b->fits)
		return false;
	if (finder->report->rules->between_sources && a->source == b->source)
		return false;
	return b->depth <= SIMILAR_DEPTH_MAX && bytes_outside(a) >= needed &&
	       bytes_outside(b) >= needed;
}

/* Adds the weight of a pair to the sums of all pairs of directories above it that are apart. */
static int add_to_sums(struct similar_finder *finder, const struct similar_sum *weight)
{
	const struct similar_tree *tree = &finder->tree;
	const struct similar_dir *list = tree->list;
	uint32_t dirs[2];

	split(weight->pair, dirs);
	for (uint32_t a = dirs[0]; !similar_tree_contains(tree, a, dirs[1]); a = list[a].parent) {
		if (!has_similar(finder, &list[a]))
			continue;
		for (uint32_t b = dirs[1]; !similar_tree_contains(tree, b, dirs[0]);
		     b = list[b].parent) {
			const struct similar_sum sum = {join(a, b), weight->contents,
							weight->bytes};
			int r = 0;

			if (can_be_similar(finder, &list[a], &list[b]))
				r = similar_sums_add(&finder->sums, &sum);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int add_all_to_sums(struct similar_finder *finder)
{
	struct similar_sum weight;
	int r = similar_sums_finish(&finder->weights);

	if (r == 0)
		r = similar_sums_begin(&finder->sums);
	while (r == 0 && (r = similar_sums_next(&finder->weights, &weight)) == 0)
		r = add_to_sums(finder, &weight);
	similar_sums_free(&finder->weights);
	return r == -ENOENT ? 0 : r;
}

/* ---- similar pairs -------------------------------------------------------------------------- */

/* What a sorted record says of a pair. At equal bytes, the first one precedes the second. */
enum finding {
	FOUND_SUPERFLUOUS, /* a pair in it shares as many bytes, and has fewer or is equal */
	FOUND_SIMILAR,
};

/* The pair with most bytes is first, then that of the first path. */
static int add_finding(struct similar_finder *finder, const struct similar_sum *sum,
		       enum finding finding)
{
	const uint64_t key[] = {htobe64(~sum->bytes), htobe64(sum->pair), htobe64(finding)};

	return sorter_add(finder->found, key, sizeof(key), sum->contents);
}

/* Sets *equal to whether the directories of a pair are equal folders. */
static int are_equal(const struct similar_finder *finder, const struct similar_sum *sum,
		     bool *equal)
{
	uint64_t groups[2] = {0};
	uint32_t dirs[2];
	int r = 0;

	split(sum->pair, dirs);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(dirs); i++) {
		const struct similar_dir *dir = &finder->tree.list[dirs[i]];

		if (dir->bytes == sum->bytes)
			r = catalog_find_folder_group(finder->report->reader, dir->id, &groups[i]);
	}
	*equal = groups[0] != 0 && groups[0] == groups[1];
	return r;
}

/* Marks the pairs of directories above a similar pair as superfluous if they share the same bytes:
 * they are larger, or the folders of the pair are equal. Larger pairs of two other directories need
 * no mark, because the pairs of one other directory mark them. */
static int add_superfluous(struct similar_finder *finder, const struct similar_sum *sum, bool equal)
{
	const struct similar_tree *tree = &finder->tree;
	const struct similar_dir *list = tree->list;
	uint32_t dirs[2];
	int r = 0;

	split(sum->pair, dirs);
	for (uint32_t a = dirs[0]; !similar_tree_contains(tree, a, dirs[1]); a = list[a].parent) {
		for (uint32_t b = dirs[1]; !similar_tree_contains(tree, b, dirs[0]);
		     b = list[b].parent) {
			struct similar_sum above = *sum;

			above.pair = join(a, b);
			if (sum->bytes < bytes_needed(finder, larger_bytes(&list[a], &list[b])) ||
			    (a != dirs[0] && b != dirs[1] && !equal))
				break;
			if (above.pair != sum->pair &&
			    (equal || list[a].bytes > list[dirs[0]].bytes ||
			     list[b].bytes > list[dirs[1]].bytes))
				r = add_finding(finder, &above, FOUND_SUPERFLUOUS);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* Adds a pair to those that were found if it is similar. */
static int judge(struct similar_finder *finder, struct similar_sum *sum)
{
	const struct similar_dir *list = finder->tree.list;
	uint32_t dirs[2];
	uint64_t needed;
	bool equal;
	int r;

	split(sum->pair, dirs);
	needed = bytes_needed(finder, larger_bytes(&list[dirs[0]], &list[dirs[1]]));
	if (sum->bytes + list[dirs[0]].common < needed ||
	    sum->bytes + list[dirs[1]].common < needed)
		return 0;
	if (list[dirs[0]].common > 0 && list[dirs[1]].common > 0)
		similar_common_share(&finder->common, &finder->tree, dirs, &sum->contents,
				     &sum->bytes);
	if (sum->bytes < needed)
		return 0;
	r = add_finding(finder, sum, FOUND_SIMILAR);
	if (r < 0 || finder->report->implied)
		return r;
	r = are_equal(finder, sum, &equal);
	return r < 0 ? r : add_superfluous(finder, sum, equal);
}

static int judge_all(struct similar_finder *finder)
{
	struct similar_sum sum;
	int r = similar_sums_finish(&finder->sums);

	if (r == 0)
		r = sorter_new(&finder->found, SORTER_BYTES);
	while (r == 0 && (r = similar_sums_next(&finder->sums, &sum)) == 0)
		r = judge(finder, &sum);
	similar_sums_free(&finder->sums);
	return r == -ENOENT ? sorter_finish(finder->found) : r;
}

/* ---- pairs to print ------------------------------------------------------------------------- */

static bool is_in_listed(const struct similar_finder *finder, const uint32_t dirs[static 2])
{
	const struct similar_dir *list = finder->tree.list;

	for (uint32_t a = dirs[0]; a != 0; a = list[a].parent) {
		for (uint32_t i = list[a].listed; i != 0; i = finder->listed[i].next) {
			if (similar_tree_contains(&finder->tree, finder->listed[i].second, dirs[1]))
				return true;
		}
	}
	return false;
}

static int add_listed(struct similar_finder *finder, const uint32_t dirs[static 2])
{
	struct similar_dir *dir = &finder->tree.list[dirs[0]];
	int r = array_reserve(&finder->listed, &finder->listed_capacity, finder->listed_count + 2,
			      sizeof(*finder->listed));

	if (r == 0 && finder->listed_count == UINT32_MAX - 1)
		r = -EOVERFLOW;
	if (r < 0)
		return r;
	finder->listed[++finder->listed_count] = (struct listed_pair){dirs[1], dir->listed};
	dir->listed = (uint32_t)finder->listed_count;
	return 0;
}

static unsigned int find_percent(uint64_t part, uint64_t whole)
{
	assert(whole > 0);
	/* above this, the hundredth part of the whole is exact enough */
	if (part > UINT64_MAX / 100)
		return (unsigned int)(part == whole ? 100 : part / (whole / 100 + 1));
	return (unsigned int)(part * 100 / whole);
}

static int print_pair(struct similar_finder *finder, const struct similar_visitor *visitor,
		      const uint32_t dirs[static 2], const struct similar_sum *sum)
{
	CLEANUP_BYTES struct bytes first = {0};
	CLEANUP_BYTES struct bytes second = {0};
	struct bytes *paths[] = {&first, &second};
	struct similar_pair pair = {.shared = sum->contents, .shared_bytes = sum->bytes};
	uint64_t larger = 0;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const struct similar_dir *dir = &finder->tree.list[dirs[i]];
		struct similar_folder *folder = &pair.folders[i];
		int r = catalog_dir_path(finder->report->reader, dir->id, paths[i],
					 &folder->source);

		if (r < 0)
			return r == -ENOENT ? -EUCLEAN : r;
		folder->path = bytes_text(paths[i]);
		if (!folder->path)
			return -ENOMEM;
		folder->only = dir->contents - sum->contents;
		folder->only_bytes = dir->bytes - sum->bytes;
		larger = dir->bytes > larger ? dir->bytes : larger;
	}
	pair.percent = find_percent(sum->bytes, larger);
	return visitor->pair(visitor->context, &pair);
}

static int next_finding(struct similar_finder *finder, struct similar_sum *sum,
			enum finding *finding)
{
	uint64_t key[3];
	int r = sorter_next_key(finder->found, key, sizeof(key), &sum->contents);

	if (r < 0)
		return r;
	sum->bytes = ~be64toh(key[0]);
	sum->pair = be64toh(key[1]);
	*finding = (enum finding)be64toh(key[2]);
	return 0;
}

/* Prints a pair, unless it is to be left out. superfluous: the last pair that was found to be so */
static int list_pair(struct similar_finder *finder, const struct similar_visitor *visitor,
		     const struct similar_sum *sum, const struct similar_sum *superfluous)
{
	uint32_t dirs[2];
	bool equal;
	int r = are_equal(finder, sum, &equal);

	split(sum->pair, dirs);
	if (r < 0)
		return r;
	if (!finder->report->implied) {
		if (!equal && sum->pair == superfluous->pair && sum->bytes == superfluous->bytes)
			return 0;
		if (is_in_listed(finder, dirs))
			return 0;
		r = add_listed(finder, dirs);
	}
	if (r < 0 || equal)
		return r;
	finder->printed++;
	return print_pair(finder, visitor, dirs, sum);
}

static int print_all(struct similar_finder *finder, const struct similar_visitor *visitor)
{
	struct similar_sum sum, superfluous = {0};
	enum finding finding;
	int r = 0;

	while (r == 0 && finder->printed < finder->report->filter->top &&
	       (r = next_finding(finder, &sum, &finding)) == 0) {
		if (finding == FOUND_SUPERFLUOUS)
			superfluous = sum;
		else
			r = list_pair(finder, visitor, &sum, &superfluous);
	}
	return r == -ENOENT ? 0 : r;
}

/* ---- all ------------------------------------------------------------------------------------ */

/* Finds the directories that the filter selects. */
static int select_dirs(struct similar_finder *finder)
{
	const struct report *report = finder->report;
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < finder->tree.count; i++) {
		CLEANUP_BYTES struct bytes path = {0};
		struct similar_dir *dir = &finder->tree.list[i];

		dir->fits = true;
		finder->bounds.deep += dir->depth > SIMILAR_DEPTH_MAX;
		if (!filter_selects_folders(report->filter))
			continue;
		r = catalog_dir_path(report->reader, dir->id, &path, &dir->source);
		if (r == 0 && !bytes_text(&path))
			r = -ENOMEM;
		if (r == 0)
			r = filter_selects_folder(report->filter, report->sources, dir->source,
						  bytes_text(&path), &dir->fits);
	}
	return r == -ENOENT ? -EUCLEAN : r;
}

static int find(struct similar_finder *finder, const struct similar_visitor *visitor)
{
	int r = similar_tree_make(&finder->tree, finder->report->reader);

	if (r == 0)
		r = select_dirs(finder);
	if (r == 0)
		r = similar_sums_begin(&finder->weights);
	if (r == 0)
		r = read_contents(finder);
	if (r == 0)
		r = similar_common_finish(&finder->common);
	if (r < 0)
		return r;
	similar_tree_add_up(&finder->tree);
	r = add_all_to_sums(finder);
	if (r == 0)
		r = judge_all(finder);
	return r < 0 ? r : print_all(finder, visitor);
}

int similar_find(const struct report *report, const struct similar_visitor *visitor,
		 struct similar_bounds *bounds)
{
	struct similar_finder finder = {.report = report};
	int r = find(&finder, visitor);

	*bounds = finder.bounds;
	similar_tree_free(&finder.tree);
	similar_common_free(&finder.common);
	similar_sums_free(&finder.weights);
	similar_sums_free(&finder.sums);
	sorter_free(finder.found);
	free(finder.listed);
	return r;
}
