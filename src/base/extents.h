/* SPDX-License-Identifier: MIT */
#ifndef BASE_EXTENTS_H
#define BASE_EXTENTS_H

/* Extents of a file on its disk, by FIEMAP (Documentation/filesystems/fiemap.rst in Linux), and the
 * sharing of blocks by FIDEDUPERANGE (ioctl_fideduperange(2)). Any thread. */

#include <linux/fiemap.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

/* Extents per call of FIEMAP. */
#define EXTENTS_AT_A_TIME 64U

/* What identifies the file system of an extent: positions of extents are unique within it. */
struct extent_disk {
	uint8_t id[16];
};

/* Sets *disk to the UUID of a btrfs, whose subvolumes differ in st_dev, or else to st_dev. Returns
 * 0 or -errno. */
MUST_CHECK int extents_find_disk(int fd, struct extent_disk *disk);

/* An iteration over the extents of a file. A struct that has only fd, flags, from and to is at the
 * first extent that ends after the offset from. For each extent that a call returns, btrfs searches
 * whether it is shared. So an iteration over a small range must have its end, or it takes many
 * times as long. */
struct extents {
	int fd;
	uint32_t flags; /* of the calls: 0, or FIEMAP_FLAG_SYNC to write the file back first */
	_Alignas(struct fiemap) uint8_t
		room[sizeof(struct fiemap) + EXTENTS_AT_A_TIME * sizeof(struct fiemap_extent)];
	uint32_t next;
	uint64_t from; /* start of the next call */
	uint64_t to; /* no extent is returned that begins here or later; 0: all are */
	bool ended;
};

/* Sets *extent to the next extent, or to NULL at the end. The extent is valid until the next call.
 * Returns 0 or -errno; -EOPNOTSUPP if the file system does not support FIEMAP. */
MUST_CHECK int extents_next(struct extents *extents, const struct fiemap_extent **extent);

/* Returns whether the extent has a known position on the disk, which can be compared. */
bool extent_is_placed(const struct fiemap_extent *extent);

/* Returns the allocated bytes that the file shares with no other file: its removal frees them. If
 * the file system does not support FIEMAP, returns all allocated bytes. Writes the file back first,
 * as recent bytes have no extents yet. */
uint64_t extents_own_bytes(int fd);

/* Returns about the same number without writing the file back, which can take long. */
uint64_t extents_estimate_own_bytes(int fd);

/* Returns whether two files are certain to share all their blocks. If the file system does not
 * support FIEMAP, returns false. */
bool extents_all_shared(int a, int b);

/* Returns whether each written block of b is certain to be that of a at the same offset. Holes and
 * unwritten extents of b do not matter. If the file system does not support FIEMAP, returns false.
 */
bool extents_cover(int a, int b);

/* Two ranges of files that can share blocks. */
struct dedupe_range {
	int source, destination; /* descriptors; may be open for reading only */
	uint64_t source_offset, destination_offset;
	uint64_t length;
};

/* Has the kernel compare the ranges and share their blocks, while it locks both files. Blocks until
 * the bytes are read. Returns the number of bytes that are shared now, 0 if the ranges differ or
 * are empty, or -errno. */
MUST_CHECK int64_t dedupe_range(const struct dedupe_range *range);

/* Moves the start of a range to the next byte with data of its destination, and its end to the next
 * hole. Unwritten extents count as holes. If a hole of the destination shared the blocks of the
 * source, the destination would get larger. If no data follows, the length becomes 0. Without
 * support for holes, all bytes are data. Moves the position of the destination. Returns the bytes
 * by which the start moved. */
uint64_t dedupe_range_skip_hole(struct dedupe_range *range);

/* Returns whether the file system of an open file cannot share blocks.
 *
 * shared	the result of dedupe_range() for an empty range of the file, which only checks that
 *		the file system implements the call. XFS without reflinks accepts it. */
bool dedupe_range_is_unsupported(int fd, int64_t shared);

/* Returns whether a file that is open for reading has surely been copied to the upper layer of
 * overlayfs, so that a rename keeps its hard links. Never copies it. */
bool layer_is_copied_up(int fd);

#endif
