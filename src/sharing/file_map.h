/* SPDX-License-Identifier: MIT */
#ifndef SHARING_FILE_MAP_H
#define SHARING_FILE_MAP_H

/* The extents of one file on a file system that shares extents. Any thread. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct file_map {
	/* set before the call */
	uint64_t space; /* of file_map_space() */
	uint32_t member; /* number of the file in the ranges */
	/* results */
	uint64_t own; /* bytes of content that no other file holds, each range of the disk once */
	bool incomplete; /* some bytes are not on the disk yet; they count as own */
};

/* Sets *space to a number for the file system of fd, within which positions of extents are unique.
 * The subvolumes of a btrfs have different st_dev, and one space. Returns 0 or -errno. */
MUST_CHECK int file_map_space(int fd, uint64_t *space);

/* Maps a file that is open for reading, up to its size.
 *
 * shared	its ranges that the kernel reports as shared (struct shared_range) are appended
 *
 * Returns 0, -EOPNOTSUPP if the file system cannot map files, or another -errno. */
MUST_CHECK int file_map_read(int fd, uint64_t size, struct bytes *shared, struct file_map *map);

#endif
