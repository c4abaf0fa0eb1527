/* SPDX-License-Identifier: MIT */
#ifndef BASE_DEDUPE_RANGE_H
#define BASE_DEDUPE_RANGE_H

/* FIDEDUPERANGE (ioctl_fideduperange(2)) for one destination. Any thread. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

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

#endif
