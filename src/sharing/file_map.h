/* SPDX-License-Identifier: MIT */
#ifndef SHARING_FILE_MAP_H
#define SHARING_FILE_MAP_H

/* The extents of one file on a file system that shares extents. Any thread. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct file_map {
	uint64_t own; /* bytes of content that no other file holds, each range of the disk once */
	bool incomplete; /* some bytes are not on the disk yet; they count as own */
};

/* Maps a file that is open for reading, up to its size.
 *
 * member	number of the file in the ranges
 * shared	its ranges that the kernel reports as shared (struct shared_range) are appended
 *
 * Returns 0, -EOPNOTSUPP if the file system cannot map files, or another -errno. */
MUST_CHECK int file_map_read(int fd, uint64_t size, uint32_t member, struct bytes *shared,
			     struct file_map *map);

#endif
