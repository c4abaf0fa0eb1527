/* SPDX-License-Identifier: MIT */
#include "view/tree/folder_figures.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "index/query.h"
#include "index/scan.h"

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

/* ---- counting ------------------------------------------------------------------------- */

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

/* ---- the cache ------------------------------------------------------------------------ */

static int64_t thread_time_ns(void)
{
	struct timespec time = {0};

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return clock_ns(time);
}

static int update(struct folder_cache *cache, struct catalog_reader *reader, uint64_t changes)
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
	r = update(cache, reader, totals->folder_changes);
	*figures = cache->figures;
	pthread_mutex_unlock(&cache->lock);
	if (figures->redundant_bytes > redundant_bytes)
		figures->redundant_bytes = redundant_bytes;
	return r;
}
