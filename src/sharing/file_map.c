/* SPDX-License-Identifier: MIT */
#include "sharing/file_map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/extents.h"
#include "base/hash.h"
#include "base/numbers.h"
#include "base/size.h"
#include "sharing/joint_ranges.h"

struct mapping {
	uint64_t size;
	struct bytes *shared; /* of struct shared_range */
	struct bytes own; /* of struct shared_range */
	struct file_map *map;
};

int file_map_space(int fd, uint64_t *space)
{
	struct extent_disk disk;
	int r = extents_find_disk(fd, &disk);

	if (r == 0)
		*space = hash64(&disk, sizeof(disk), 0);
	return r;
}

/* Returns the range of the disk that the first length bytes of the extent take. Where a range is in
 * the compressed bytes of an extent, the kernel does not report. So each compressed extent is a
 * space of its own, in which a range is where it is in the file: equal files that share the extent
 * have it at the same place. */
static struct shared_range range_of(const struct mapping *mapping,
				    const struct fiemap_extent *extent, uint64_t length)
{
	struct shared_range range = {mapping->map->space, extent->fe_physical, length,
				     mapping->map->member};

	if (extent->fe_flags & FIEMAP_EXTENT_ENCODED) {
		range.space = hash64(&extent->fe_physical, sizeof(extent->fe_physical),
				     mapping->map->space);
		range.start = extent->fe_logical;
	}
	return range;
}

static int add_extent(struct mapping *mapping, const struct fiemap_extent *extent)
{
	uint64_t length = size_subtract(mapping->size, extent->fe_logical);
	struct shared_range range;

	if (length > extent->fe_length)
		length = extent->fe_length;
	if (length == 0 || extent->fe_flags & FIEMAP_EXTENT_DATA_INLINE)
		return 0; /* after the end of the file, or in the metadata */
	if (!extent_is_placed(extent)) {
		mapping->map->incomplete = true;
		mapping->map->own += length;
		return 0;
	}
	range = range_of(mapping, extent, length);
	return bytes_append(extent->fe_flags & FIEMAP_EXTENT_SHARED ? mapping->shared
								    : &mapping->own,
			    &range, sizeof(range));
}

static int by_start(const void *a, const void *b)
{
	const struct shared_range *x = a, *y = b;

	return x->space != y->space ? numbers_compare(x->space, y->space)
				    : numbers_compare(x->start, y->start);
}

/* Counts each byte once. btrfs does not report extents as shared that a file shares with itself. */
static void count_own(struct mapping *mapping)
{
	struct shared_range *own = (void *)mapping->own.data;
	size_t count = mapping->own.length / sizeof(*own);
	uint64_t end = 0;

	sort_unless_sorted(own, count, sizeof(*own), by_start);
	for (size_t i = 0; i < count; i++) {
		uint64_t start = own[i].start, last = own[i].start + own[i].length;

		if (i == 0 || own[i].space != own[i - 1].space)
			end = 0;
		if (start < end)
			start = end;
		mapping->map->own += size_subtract(last, start);
		if (end < last)
			end = last;
	}
}

int file_map_read(int fd, uint64_t size, struct bytes *shared, struct file_map *map)
{
	struct mapping mapping = {.size = size, .shared = shared, .map = map};
	struct extents extents = {.fd = fd};
	const struct fiemap_extent *extent;
	int r;

	map->own = 0;
	map->incomplete = false;
	while ((r = extents_next(&extents, &extent)) == 0 && extent) {
		r = add_extent(&mapping, extent);
		if (r < 0)
			break;
	}
	if (r == 0)
		count_own(&mapping);
	bytes_free(&mapping.own);
	return r;
}
