/* SPDX-License-Identifier: MIT */
#define HASH_NONFATAL_OOM 1
#include "view/tree/caches.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"

/* ---- times of listings -------------------------------------------------------------- */

struct listing_time {
	uint64_t node;
	struct timespec time;
	UT_hash_handle hh;
};

void listing_times_init(struct listing_times *times)
{
	*times = (struct listing_times){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void listing_times_deinit(struct listing_times *times)
{
	struct listing_time *entry, *next;

	HASH_ITER(hh, times->table, entry, next)
	{
		HASH_DEL(times->table, entry);
		free(entry);
	}
	pthread_mutex_destroy(&times->lock);
}

static struct listing_time *find_or_add(struct listing_times *times, uint64_t node)
{
	struct listing_time *entry;

	HASH_FIND(hh, times->table, &node, sizeof(node), entry);
	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->node = node;
	HASH_ADD(hh, times->table, node, sizeof(entry->node), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return NULL;
	}
	return entry;
}

int listing_times_set(struct listing_times *times, uint64_t node, struct timespec time)
{
	struct listing_time *entry;

	pthread_mutex_lock(&times->lock);
	entry = find_or_add(times, node);
	if (entry)
		entry->time = time;
	pthread_mutex_unlock(&times->lock);
	return entry ? 0 : -ENOMEM;
}

struct timespec listing_times_latest(struct listing_times *times, uint64_t node,
				     struct timespec time)
{
	struct listing_time *entry;

	pthread_mutex_lock(&times->lock);
	HASH_FIND(hh, times->table, &node, sizeof(node), entry);
	if (entry)
		time = clock_latest(time, entry->time);
	pthread_mutex_unlock(&times->lock);
	return time;
}

/* ---- paths of directories ----------------------------------------------------------- */

/* Limits: entries, and the length of a path in the cache. Together 68 KiB. */
#define DIRECTORY_PATHS_MAX 256
#define DIRECTORY_PATH_BYTES_MAX 240

struct directory_path {
	uint64_t dir; /* 0: empty */
	uint64_t snapshot; /* catalog_snapshot_id */
	uint32_t source;
	uint16_t length;
	char path[DIRECTORY_PATH_BYTES_MAX];
};

void directory_paths_init(struct directory_paths *paths)
{
	*paths = (struct directory_paths){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void directory_paths_deinit(struct directory_paths *paths)
{
	free(paths->list);
	pthread_mutex_destroy(&paths->lock);
}

/* Outcome: the cache has no valid entry. */
enum {
	PATH_UNKNOWN = 1
};

/* Appends a cached path. Returns 0, PATH_UNKNOWN or -ENOMEM. */
static int append_cached(struct directory_paths *paths, uint64_t snapshot, uint64_t dir,
			 struct bytes *path, uint32_t *source)
{
	const struct directory_path *entry;
	int r = PATH_UNKNOWN;

	pthread_mutex_lock(&paths->lock);
	entry = paths->list ? &paths->list[dir % DIRECTORY_PATHS_MAX] : NULL;
	if (entry && entry->dir == dir && entry->snapshot == snapshot) {
		*source = entry->source;
		r = bytes_append(path, entry->path, entry->length);
	}
	pthread_mutex_unlock(&paths->lock);
	return r;
}

static void store_path(struct directory_paths *paths, const struct directory_path *entry)
{
	pthread_mutex_lock(&paths->lock);
	if (!paths->list)
		paths->list = calloc(DIRECTORY_PATHS_MAX, sizeof(*paths->list));
	if (paths->list)
		paths->list[entry->dir % DIRECTORY_PATHS_MAX] = *entry;
	pthread_mutex_unlock(&paths->lock);
}

int directory_paths_append(struct directory_paths *paths, struct catalog_reader *reader,
			   uint64_t dir, struct bytes *path, uint32_t *source)
{
	struct directory_path entry = {.dir = dir, .snapshot = catalog_snapshot_id(reader)};
	size_t start = path->length;
	int r = append_cached(paths, entry.snapshot, dir, path, source);

	if (r != PATH_UNKNOWN)
		return r;
	r = catalog_dir_path(reader, dir, path, source);
	if (r < 0 || path->length - start > sizeof(entry.path))
		return r;
	entry.source = *source;
	entry.length = (uint16_t)(path->length - start);
	if (entry.length > 0)
		memcpy(entry.path, path->data + start, entry.length);
	store_path(paths, &entry);
	return 0;
}

/* ---- ranks of groups ---------------------------------------------------------------- */

void ranking_init(struct ranking *ranking, ranking_scan_fn *scan_table)
{
	*ranking = (struct ranking){.scan_table = scan_table, .lock = PTHREAD_MUTEX_INITIALIZER};
}

void ranking_deinit(struct ranking *ranking)
{
	free(ranking->positions);
	pthread_mutex_destroy(&ranking->lock);
}

static int store_position(struct ranking *ranking, const struct rank_entry *position)
{
	int r = array_reserve(&ranking->positions, &ranking->capacity, ranking->count + 1,
			      sizeof(*ranking->positions));

	if (r == 0)
		ranking->positions[ranking->count++] = *position;
	return r;
}

/* Extends the stored positions until there are this many. */
static int extend_positions(struct ranking *ranking, struct catalog_reader *reader, size_t wanted)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	const struct rank_entry *from = NULL;
	struct rank_entry position;
	size_t ahead = 0; /* groups before the next position to store */
	int r;

	if (ranking->count > 0) {
		from = &ranking->positions[ranking->count - 1];
		ahead = RANKING_STEP;
	}
	r = ranking->scan_table(reader, from, &scan);
	while (r == 0 && ranking->count < wanted) {
		r = catalog_next_rank_entry(scan, &position);
		if (r == 0 && ahead-- == 0) {
			r = store_position(ranking, &position);
			ahead = RANKING_STEP - 1;
		}
	}
	return r == -ENOENT ? -EUCLEAN : r; /* fewer groups than in the totals */
}

/* Fills in the stored position at or before a rank. */
static int find_position(struct ranking *ranking, struct catalog_reader *reader, uint64_t order,
			 size_t number, struct rank_entry *position)
{
	int r = 0;

	pthread_mutex_lock(&ranking->lock);
	if (ranking->order != order)
		ranking->count = 0;
	ranking->order = order;
	if (number >= ranking->count)
		r = extend_positions(ranking, reader, number + 1);
	if (r == 0)
		*position = ranking->positions[number];
	pthread_mutex_unlock(&ranking->lock);
	return r;
}

int ranking_scan(struct ranking *ranking, struct catalog_reader *reader, uint64_t order,
		 uint64_t rank, struct catalog_scan **scan)
{
	struct rank_entry position;
	int r = find_position(ranking, reader, order, (rank - 1) / RANKING_STEP, &position);

	if (r == 0)
		r = ranking->scan_table(reader, &position, scan);
	for (uint64_t i = (rank - 1) % RANKING_STEP; r == 0 && i > 0; i--)
		r = catalog_next_rank_entry(*scan, &position);
	return r == -ENOENT ? -EUCLEAN : r;
}

/* ---- copies that a caller sees ------------------------------------------------------ */

#define VALIDITY_FACTOR 20

/* ---- copies of a large group -------------------------------------------------------- */

struct visible_entry {
	struct visible_key key; /* group 0: empty */
	struct visible_copies visible;
	uint64_t until_ns;
};

void visible_cache_init(struct visible_cache *visible_cache)
{
	*visible_cache = (struct visible_cache){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void visible_cache_deinit(struct visible_cache *visible_cache)
{
	free(visible_cache->list);
	pthread_mutex_destroy(&visible_cache->lock);
}

/* Returns the slot for a key. */
static struct visible_entry *copies_slot(const struct visible_cache *visible_cache,
					 const struct visible_key *key)
{
	const uint64_t numbers[] = {key->caller, key->group};

	return &visible_cache->list[hash64(numbers, sizeof(numbers), 0) % VISIBLE_CACHE_MAX];
}

static bool same_copies(const struct visible_key *a, const struct visible_key *b)
{
	return a->caller == b->caller && a->group == b->group &&
	       clock_equal(a->changed, b->changed);
}

bool visible_cache_get(struct visible_cache *visible_cache, const struct visible_key *key,
		       struct visible_copies *visible, uint64_t now_ns)
{
	const struct visible_entry *known;
	bool is_known = false;

	pthread_mutex_lock(&visible_cache->lock);
	if (visible_cache->list) {
		known = copies_slot(visible_cache, key);
		is_known = same_copies(&known->key, key) && now_ns < known->until_ns;
		*visible = known->visible;
	}
	pthread_mutex_unlock(&visible_cache->lock);
	return is_known;
}

void visible_cache_put(struct visible_cache *visible_cache, const struct visible_key *key,
		       const struct visible_copies *visible, uint64_t began_ns, uint64_t now_ns)
{
	pthread_mutex_lock(&visible_cache->lock);
	if (!visible_cache->list)
		visible_cache->list = calloc(VISIBLE_CACHE_MAX, sizeof(*visible_cache->list));
	if (visible_cache->list) {
		*copies_slot(visible_cache, key) = (struct visible_entry){
			.key = *key,
			.visible = *visible,
			.until_ns = now_ns + VALIDITY_FACTOR * (now_ns - began_ns),
		};
	}
	pthread_mutex_unlock(&visible_cache->lock);
}

/* ---- numbers of groups with one hash ------------------------------------------------ */

struct known_numbering {
	struct number_key key;
	struct bytes ordinals;
	uint64_t until_ns; /* 0: empty */
};

void known_numbers_init(struct known_numbers *numbers)
{
	*numbers = (struct known_numbers){.lock = PTHREAD_MUTEX_INITIALIZER};
}

static size_t count_of(const struct bytes *ordinals)
{
	return ordinals->length / sizeof(uint32_t);
}

/* Must be called with the lock held. */
static void evict_numbering(struct known_numbers *numbers, struct known_numbering *known)
{
	numbers->groups -= count_of(&known->ordinals);
	bytes_free(&known->ordinals);
	known->until_ns = 0;
}

static void evict_all(struct known_numbers *numbers)
{
	for (size_t i = 0; numbers->list && i < KNOWN_NUMBERS_MAX; i++)
		evict_numbering(numbers, &numbers->list[i]);
}

void known_numbers_deinit(struct known_numbers *numbers)
{
	evict_all(numbers);
	free(numbers->list);
	pthread_mutex_destroy(&numbers->lock);
}

/* Returns the slot for a key. */
static struct known_numbering *numbering_slot(const struct known_numbers *numbers,
					      const struct number_key *key)
{
	const uint64_t parts[] = {key->caller, key->hash.high, key->hash.low};

	return &numbers->list[hash64(parts, sizeof(parts), 0) % KNOWN_NUMBERS_MAX];
}

static bool same_numbering(const struct number_key *a, const struct number_key *b)
{
	return a->caller == b->caller && hash128_equal(a->hash, b->hash) &&
	       a->generation == b->generation;
}

static int by_ordinal(const void *a, const void *b)
{
	return numbers_compare(*(const uint32_t *)a, *(const uint32_t *)b);
}

bool numbered_find(const struct bytes *ordinals, struct numbered *group)
{
	const uint32_t *list = (const void *)ordinals->data, *found;
	size_t count = count_of(ordinals);

	if (group->number > count || count == 0)
		return false;
	if (group->number) {
		group->ordinal = list[group->number - 1];
		return true;
	}
	found = bsearch(&group->ordinal, list, count, sizeof(*list), by_ordinal);
	if (found)
		group->number = (uint32_t)(found - list) + 1;
	return found;
}

bool known_numbers_get(struct known_numbers *numbers, const struct number_key *key,
		       struct numbered *group, uint64_t now_ns)
{
	const struct known_numbering *known;
	bool is_known = false;

	pthread_mutex_lock(&numbers->lock);
	if (numbers->list) {
		known = numbering_slot(numbers, key);
		is_known = same_numbering(&known->key, key) && now_ns < known->until_ns;
		if (is_known)
			(void)!numbered_find(&known->ordinals, group);
	}
	pthread_mutex_unlock(&numbers->lock);
	return is_known;
}

void known_numbers_put(struct known_numbers *numbers, const struct number_key *key,
		       struct bytes *ordinals, uint64_t began_ns, uint64_t now_ns)
{
	struct known_numbering *known;

	pthread_mutex_lock(&numbers->lock);
	if (!numbers->list)
		numbers->list = calloc(KNOWN_NUMBERS_MAX, sizeof(*numbers->list));
	if (numbers->list && count_of(ordinals) <= KNOWN_NUMBERS_GROUPS_MAX) {
		known = numbering_slot(numbers, key);
		evict_numbering(numbers, known);
		if (numbers->groups + count_of(ordinals) > KNOWN_NUMBERS_GROUPS_MAX)
			evict_all(numbers);
		*known = (struct known_numbering){
			.key = *key,
			.ordinals = *ordinals,
			.until_ns = now_ns + VALIDITY_FACTOR * (now_ns - began_ns),
		};
		*ordinals = (struct bytes){0};
		numbers->groups += count_of(&known->ordinals);
	}
	pthread_mutex_unlock(&numbers->lock);
	bytes_free(ordinals);
}

/* ---- figures of folders: counting --------------------------------------------------- */

/* Time of the processor that a count may take, whatever the time since the last one. */
#define FOLDER_COUNT_FREE_NS (50 * MS_NS)

/* Number of times that the time of a long count passes before the next one. */
#define FOLDER_COUNT_REST 50

void folder_cache_init(struct folder_cache *cache)
{
	*cache = (struct folder_cache){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void folder_cache_deinit(struct folder_cache *cache)
{
	pthread_mutex_destroy(&cache->lock);
}

/* A folder of a group. */
struct figure_member {
	struct attributes attributes;
	uint64_t above; /* folder group of its parent; 0: none */
};

struct members {
	struct figure_member *list;
	size_t count, capacity;
};

static void members_free(struct members *members)
{
	free(members->list);
}

static int compare_members(const void *left, const void *right)
{
	const struct attributes *a = &((const struct figure_member *)left)->attributes;
	const struct attributes *b = &((const struct figure_member *)right)->attributes;
	int order = numbers_compare(a->filesystem, b->filesystem);

	return order ? order : numbers_compare(a->inode, b->inode);
}

static int add_member(struct members *members, struct catalog_reader *reader, uint64_t id)
{
	struct figure_member *member;
	struct dir_record dir;
	uint64_t above = 0;
	int r = catalog_get_dir(reader, id, &dir);

	if (r == 0 && dir.parent)
		r = catalog_find_folder_group(reader, dir.parent, &above);
	if (r == 0)
		r = array_reserve(&members->list, &members->capacity, members->count + 1,
				  sizeof(*members->list));
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	assert(members->list);
	member = &members->list[members->count++];
	*member = (struct figure_member){.attributes = dir.attributes, .above = above};
	return 0;
}

/* Leaves one name of each folder that is mounted several times. */
static void remove_mounts(struct members *members)
{
	size_t kept = 0;

	assert(members->list);
	qsort(members->list, members->count, sizeof(*members->list), compare_members);
	for (size_t i = 0; i < members->count; i++) {
		if (i == 0 || !attributes_same_inode(&members->list[i].attributes,
						     &members->list[kept - 1].attributes))
			members->list[kept++] = members->list[i];
	}
	members->count = kept;
}

static void count_members(const struct members *members, uint64_t bytes,
			  struct folder_figures *figures)
{
	uint64_t above = members->list[0].above;
	uint64_t outermost = 0;
	bool implied = above != 0;

	for (size_t i = 0; i < members->count; i++) {
		outermost += members->list[i].above == 0;
		implied = implied && members->list[i].above == above;
	}
	if (implied)
		return;
	if (outermost == members->count)
		outermost--; /* one of them stays; else a part of another folder stays */
	figures->groups++;
	figures->redundant += outermost;
	figures->redundant_bytes =
		size_add(figures->redundant_bytes, size_multiply(outermost, bytes));
}

static int read_members(struct members *members, struct catalog_reader *reader,
			const struct folder_group *group)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t dir;
	int r = catalog_scan_folders(reader, group, 0, &scan);

	members->count = 0;
	while (r == 0 && (r = catalog_next_folder(scan, &dir)) == 0)
		r = add_member(members, reader, dir);
	return r == -ENOENT ? 0 : r;
}

static int count_group(struct members *members, struct catalog_reader *reader,
		       const struct folder_group *group, struct folder_figures *figures)
{
	int r = read_members(members, reader, group);

	if (r < 0 || members->count < 2)
		return r;
	remove_mounts(members);
	if (members->count > 1)
		count_members(members, group->bytes, figures);
	return 0;
}

static int count_groups(struct catalog_reader *reader, struct folder_figures *figures)
{
	CLEANUP(members_free) struct members members = {0};
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct folder_group group;
	int r = catalog_scan_folder_groups(reader, 0, &scan);

	*figures = (struct folder_figures){0};
	while (r == 0 && (r = catalog_next_folder_group(scan, &group)) == 0) {
		if (group.bytes > 0)
			r = count_group(&members, reader, &group, figures);
	}
	return r == -ENOENT ? 0 : r;
}

/* ---- figures of folders: the cache -------------------------------------------------- */

static int64_t thread_time_ns(void)
{
	struct timespec time = {0};

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return clock_ns(time);
}

static int update_figures(struct folder_cache *cache, struct catalog_reader *reader,
			  uint64_t changes)
{
	int64_t taken;
	int r;

	if (cache->known &&
	    (cache->changes == changes || clock_monotonic_ns() < cache->valid_until_ns))
		return 0;
	taken = -thread_time_ns();
	r = count_groups(reader, &cache->figures);
	taken += thread_time_ns();
	cache->known = r == 0;
	cache->changes = changes;
	cache->valid_until_ns = taken > FOLDER_COUNT_FREE_NS
					? clock_monotonic_ns() + FOLDER_COUNT_REST * (uint64_t)taken
					: 0;
	return r;
}

int folder_figures_get(struct folder_cache *cache, struct catalog_reader *reader,
		       const struct catalog_totals *totals, struct folder_figures *figures)
{
	uint64_t redundant_bytes = size_sum_bytes(&totals->redundant_bytes);
	int r;

	pthread_mutex_lock(&cache->lock);
	r = update_figures(cache, reader, totals->folder_changes);
	*figures = cache->figures;
	pthread_mutex_unlock(&cache->lock);
	if (figures->redundant_bytes > redundant_bytes)
		figures->redundant_bytes = redundant_bytes;
	return r;
}
