/* SPDX-License-Identifier: MIT */
#include "base/extents.h"

#include <errno.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/filesystem.h"
#include "base/numbers.h"

int extents_find_disk(int fd, struct extent_disk *disk)
{
	struct btrfs_ioctl_fs_info_args info = {0};
	struct stat status;

	*disk = (struct extent_disk){0};
	if (filesystem_has(filesystem_type_at(fd), TRAIT_SUBVOLUMES) &&
	    ioctl(fd, BTRFS_IOC_FS_INFO, &info) == 0) {
		_Static_assert(sizeof(info.fsid) == sizeof(disk->id), "the UUID fits");
		memcpy(disk->id, info.fsid, sizeof(info.fsid));
		return 0;
	}
	if (fstat(fd, &status) < 0)
		return -errno;
	memcpy(disk->id, &status.st_dev, sizeof(status.st_dev));
	return 0;
}

static struct fiemap *map_of(struct extents *extents)
{
	return (void *)extents->room;
}

static int fetch(struct extents *extents)
{
	uint64_t end = extents->to ? extents->to : FIEMAP_MAX_OFFSET;

	*map_of(extents) = (struct fiemap){.fm_start = extents->from,
					   .fm_length = end - extents->from,
					   .fm_flags = extents->flags,
					   .fm_extent_count = EXTENTS_AT_A_TIME};
	extents->next = 0;
	return ioctl(extents->fd, FS_IOC_FIEMAP, map_of(extents)) < 0 ? -errno : 0;
}

int extents_next(struct extents *extents, const struct fiemap_extent **extent)
{
	int r;

	*extent = NULL;
	if (extents->ended)
		return 0;
	if (extents->next == map_of(extents)->fm_mapped_extents) {
		r = fetch(extents);
		if (r < 0 || map_of(extents)->fm_mapped_extents == 0)
			return r;
	}
	*extent = &map_of(extents)->fm_extents[extents->next++];
	extents->from = (*extent)->fe_logical + (*extent)->fe_length;
	extents->ended = (*extent)->fe_flags & FIEMAP_EXTENT_LAST ||
			 (extents->to && extents->from >= extents->to);
	return 0;
}

/* Returns the allocated bytes that the file shares with no other file.
 *
 * flags	of FIEMAP
 */
static uint64_t own_bytes(int fd, uint32_t flags)
{
	struct extents extents = {.fd = fd, .flags = flags};
	const struct fiemap_extent *extent;
	struct stat status;
	uint64_t shared = 0, allocated;
	int r;

	if (fstat(fd, &status) < 0)
		return 0;
	allocated = (uint64_t)status.st_blocks * 512;
	while ((r = extents_next(&extents, &extent)) == 0 && extent)
		shared += extent->fe_flags & FIEMAP_EXTENT_SHARED ? extent->fe_length : 0;
	if (r < 0)
		return allocated;
	return size_subtract(allocated, shared);
}

uint64_t extents_own_bytes(int fd)
{
	return own_bytes(fd, FIEMAP_FLAG_SYNC);
}

uint64_t extents_estimate_own_bytes(int fd)
{
	return own_bytes(fd, 0);
}

bool extent_is_placed(const struct fiemap_extent *extent)
{
	return !(extent->fe_flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC |
				     FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_NOT_ALIGNED));
}

/* The part of an extent that was not compared yet. Two files can have the same blocks in extents of
 * different lengths. */
struct extent_piece {
	uint64_t logical, physical, length;
	bool placed;
};

static struct extent_piece piece_of(const struct fiemap_extent *extent)
{
	return (struct extent_piece){extent->fe_logical, extent->fe_physical, extent->fe_length,
				     extent_is_placed(extent)};
}

/* If the current piece is used up, fetches the next piece; passes over unwritten extents if only
 * written ones are wanted. Sets *ended after the last piece. Returns false if the extents cannot be
 * read. */
static bool next_piece(struct extents *extents, struct extent_piece *piece, bool written,
		       bool *ended)
{
	const struct fiemap_extent *extent;

	*ended = false;
	while (piece->length == 0 && !*ended) {
		if (extents_next(extents, &extent) < 0)
			return false;
		*ended = !extent;
		if (extent && !(written && extent->fe_flags & FIEMAP_EXTENT_UNWRITTEN))
			*piece = piece_of(extent);
	}
	return true;
}

static bool is_same_place(const struct extent_piece *x, const struct extent_piece *y)
{
	return x->placed && y->placed && x->logical == y->logical && x->physical == y->physical;
}

static void use_up(struct extent_piece *piece, uint64_t length)
{
	piece->logical += length;
	piece->physical += length;
	piece->length -= length;
}

bool extents_all_shared(int a, int b)
{
	struct extents p = {.fd = a, .flags = FIEMAP_FLAG_SYNC};
	struct extents q = {.fd = b, .flags = FIEMAP_FLAG_SYNC};
	struct extent_piece x = {0}, y = {0};
	bool p_ended, q_ended;
	uint64_t length;

	while (next_piece(&p, &x, false, &p_ended) && next_piece(&q, &y, false, &q_ended)) {
		if (p_ended || q_ended)
			return p_ended && q_ended;
		if (!is_same_place(&x, &y))
			return false;
		length = x.length < y.length ? x.length : y.length;
		use_up(&x, length);
		use_up(&y, length);
	}
	return false;
}

bool extents_cover(int a, int b)
{
	struct extents p = {.fd = a, .flags = FIEMAP_FLAG_SYNC};
	struct extents q = {.fd = b, .flags = FIEMAP_FLAG_SYNC};
	struct extent_piece x = {0}, y = {0};
	bool p_ended, q_ended;
	uint64_t length;

	while (next_piece(&q, &y, true, &q_ended) && !q_ended &&
	       next_piece(&p, &x, false, &p_ended)) {
		if (p_ended || x.logical > y.logical)
			return false;
		if (x.logical < y.logical) { /* a has more here */
			length = y.logical - x.logical;
			use_up(&x, length < x.length ? length : x.length);
			continue;
		}
		if (!is_same_place(&x, &y))
			return false;
		length = x.length < y.length ? x.length : y.length;
		use_up(&x, length);
		use_up(&y, length);
	}
	return q_ended;
}

/* Size of the argument of the ioctl with one destination. */
#define ARGUMENT_BYTES (sizeof(struct file_dedupe_range) + sizeof(struct file_dedupe_range_info))

int64_t dedupe_range(const struct dedupe_range *range)
{
	_Alignas(struct file_dedupe_range) uint8_t room[ARGUMENT_BYTES] = {0};
	struct file_dedupe_range *argument = (void *)room;

	argument->src_offset = range->source_offset;
	argument->src_length = range->length;
	argument->dest_count = 1;
	argument->info[0].dest_fd = range->destination;
	argument->info[0].dest_offset = range->destination_offset;
	if (ioctl(range->source, FIDEDUPERANGE, argument) < 0)
		return -errno;
	if (argument->info[0].status < 0)
		return argument->info[0].status;
	if (argument->info[0].status == FILE_DEDUPE_RANGE_DIFFERS)
		return 0;
	return (int64_t)argument->info[0].bytes_deduped;
}

uint64_t dedupe_range_skip_hole(struct dedupe_range *range)
{
	off_t from = (off_t)range->destination_offset;
	struct data_range data =
		data_range_at(range->destination, from, from + (off_t)range->length);

	range->source_offset += (uint64_t)(data.from - from);
	range->destination_offset = (uint64_t)data.from;
	range->length = (uint64_t)(data.to - data.from);
	return (uint64_t)(data.from - from);
}

bool dedupe_range_is_unsupported(int fd, int64_t shared)
{
	return shared == -EOPNOTSUPP || shared == -ENOTTY || shared == -ENOSYS ||
	       filesystem_lacks_reflinks_at(fd);
}

/* The handle of a file that was copied up stays that of its lower file. overlayfs refuses to share
 * blocks of a file that is not in the upper layer, with EPERM, before it asks the layer. The layer
 * answers EINVAL as source and destination are one range, EOPNOTSUPP, or EROFS if it has only the
 * metadata of the file (ovl_remap_file_range() in fs/overlayfs/file.c of Linux). */
bool layer_is_copied_up(int fd)
{
	const struct dedupe_range same = {.source = fd, .destination = fd, .length = 1};
	int64_t r = dedupe_range(&same);

	return r == -EINVAL || r == -EOPNOTSUPP || r == -EROFS;
}
