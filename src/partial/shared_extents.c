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
	bool placed; /* its position is known */
};

/* The written extents of a range of a file, in the order of the file. */
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

	if (extent->fe_flags & FIEMAP_EXTENT_UNWRITTEN)
		return 0;
	r = array_reserve(&map->list, &map->capacity, map->count + 1, sizeof(*map->list));
	if (r == 0)
		map->list[map->count++] =
			(struct extent){extent->fe_logical, extent->fe_physical, extent->fe_length,
					extent_is_placed(extent)};
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

/* Returns the first extent that ends behind the offset, or NULL. Offsets must ascend. */
static const struct extent *seek(struct extent_map *map, uint64_t offset)
{
	while (map->next < map->count &&
	       map->list[map->next].logical + map->list[map->next].length <= offset)
		map->next++;
	return map->next < map->count ? &map->list[map->next] : NULL;
}

/* Returns the bytes at an offset of b that need no sharing: those of a hole, or of an extent that a
 * has, too. 0: the first byte has to be shared. */
static uint64_t shared_bytes(struct extent_map *a, uint64_t a_offset, struct extent_map *b,
			     uint64_t b_offset)
{
	const struct extent *x = seek(a, a_offset), *y = seek(b, b_offset);
	uint64_t x_bytes, y_bytes;

	if (!y)
		return UINT64_MAX;
	if (y->logical > b_offset)
		return y->logical - b_offset;
	if (!x || x->logical > a_offset || !x->placed || !y->placed ||
	    x->physical + (a_offset - x->logical) != y->physical + (b_offset - y->logical))
		return 0;
	x_bytes = x->logical + x->length - a_offset;
	y_bytes = y->logical + y->length - b_offset;
	return x_bytes < y_bytes ? x_bytes : y_bytes;
}

/* Returns whether the range of b has no data but that of a. */
static bool is_shared(struct extent_map *a, uint64_t a_offset, struct extent_map *b,
		      uint64_t b_offset, uint64_t length)
{
	for (uint64_t at = 0, step; at < length; at += step) {
		step = shared_bytes(a, a_offset + at, b, b_offset + at);
		if (step == 0)
			return false;
		if (step > length - at)
			step = length - at;
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
