/* SPDX-License-Identifier: MIT */
#include "partial/shared_extents.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/extents.h"
#include "partial/open_files.h"
#include "partial/partial.h"

/* Blocks whose extents are in memory at once. */
#define SLICE_BLOCKS 1024U

struct extent {
	uint64_t logical, physical, length;
};

/* The extents of a range of a file with a known position, in the order of the file. */
struct extent_map {
	struct extent *list;
	size_t count, capacity;
	size_t next; /* the first extent that does not end before the last searched offset */
};

static void extent_map_free(struct extent_map *map)
{
	free(map->list);
}

static int add_extent(struct extent_map *map, const struct fiemap_extent *extent)
{
	int r;

	if (!extent_is_placed(extent) || extent->fe_flags & FIEMAP_EXTENT_UNWRITTEN)
		return 0;
	r = array_reserve(&map->list, &map->capacity, map->count + 1, sizeof(*map->list));
	if (r == 0)
		map->list[map->count++] =
			(struct extent){extent->fe_logical, extent->fe_physical, extent->fe_length};
	return r;
}

/* Gets the extents of a range. Returns 0 or -errno. */
static int load(struct extent_map *map, int fd, uint64_t offset, uint64_t length)
{
	struct extents extents = {.fd = fd,
				  .flags = FIEMAP_FLAG_SYNC,
				  .from = offset,
				  .to = offset + length};
	const struct fiemap_extent *extent;
	int r;

	map->count = 0;
	map->next = 0;
	while ((r = extents_next(&extents, &extent)) == 0 && extent) {
		r = add_extent(map, extent);
		if (r < 0)
			break;
	}
	return r;
}

/* Sets the position on the disk of an offset, and the bytes to the end of the extent. Offsets must
 * ascend. Returns false for a hole or an unknown position. */
static bool find(struct extent_map *map, uint64_t offset, uint64_t *physical, uint64_t *bytes)
{
	const struct extent *extent;

	while (map->next < map->count &&
	       map->list[map->next].logical + map->list[map->next].length <= offset)
		map->next++;
	if (map->next == map->count || map->list[map->next].logical > offset)
		return false;
	extent = &map->list[map->next];
	*physical = extent->physical + (offset - extent->logical);
	*bytes = extent->length - (offset - extent->logical);
	return true;
}

/* Returns whether two ranges have the same extents. */
static bool is_shared(struct extent_map *a, uint64_t a_offset, struct extent_map *b,
		      uint64_t b_offset, uint64_t length)
{
	uint64_t a_place, b_place, a_bytes, b_bytes, step;

	for (uint64_t at = 0; at < length; at += step) {
		if (!find(a, a_offset + at, &a_place, &a_bytes) ||
		    !find(b, b_offset + at, &b_place, &b_bytes) || a_place != b_place)
			return false;
		step = a_bytes < b_bytes ? a_bytes : b_bytes;
	}
	return true;
}

/* Appends a block, or extends the last part. */
static int add_block(struct run_list *parts, size_t from, const struct block_run *run,
		     uint32_t block)
{
	const struct block_run one = {run->source + block, run->destination + block, 1};
	struct block_run *last = parts->count > from ? &parts->list[parts->count - 1] : NULL;

	if (!last || last->destination + last->count != one.destination)
		return run_list_add(parts, &one);
	last->count++;
	return 0;
}

/* Splits a run of at most SLICE_BLOCKS blocks. from: the first part of the whole run in the list */
static int split_slice(struct open_files *files, const struct block_run *run,
		       struct run_list *parts, size_t from)
{
	CLEANUP(extent_map_free) struct extent_map a = {0}, b = {0};
	const struct partial *partial = files->partial;
	struct block_place source = block_table_locate(&partial->table, run->source);
	struct block_place destination = block_table_locate(&partial->table, run->destination);
	uint64_t block_bytes = UINT64_C(1) << partial->table.block_bits;
	uint64_t bytes = run_bytes(&partial->table, run);
	int source_fd = open_files_get(files, source.file);
	int destination_fd = source_fd < 0 ? source_fd : open_files_get(files, destination.file);
	bool known;
	int r = 0;

	if (destination_fd < 0)
		return destination_fd;
	known = load(&a, source_fd, source.offset, bytes) == 0 &&
		load(&b, destination_fd, destination.offset, bytes) == 0;
	for (uint32_t i = 0; r == 0 && i < run->count; i++) {
		uint64_t at = i * block_bytes;
		uint64_t length = bytes - at < block_bytes ? bytes - at : block_bytes;

		if (!known ||
		    !is_shared(&a, source.offset + at, &b, destination.offset + at, length))
			r = add_block(parts, from, run, i);
	}
	return r;
}

int shared_extents_split(struct open_files *files, const struct block_run *run,
			 struct run_list *parts)
{
	size_t from = parts->count;
	int r = 0;

	for (uint32_t at = 0; r == 0 && at < run->count; at += SLICE_BLOCKS) {
		struct block_run slice = {run->source + at, run->destination + at, run->count - at};

		if (slice.count > SLICE_BLOCKS)
			slice.count = SLICE_BLOCKS;
		r = split_slice(files, &slice, parts, from);
	}
	return r;
}
