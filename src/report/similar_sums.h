/* SPDX-License-Identifier: MIT */
#ifndef REPORT_SIMILAR_SUMS_H
#define REPORT_SIMILAR_SUMS_H

/* Sums for pairs of directories, for report/similar.h. They are added from parts, and sorted by
 * pair. One thread at a time. Takes 1.5 MiB for the pairs of the last parts, and a sorter of 16 MiB
 * for the others. All zeros may be freed.
 */

#include <stdint.h>

#include "base/attributes.h"

/* Numbers that belong to a pair. They are added modulo 2^64, as parts can be negative. */
struct similar_sum {
	uint64_t pair; /* never 0 in what is added */
	uint64_t contents, bytes;
};

struct similar_sums {
	struct similar_sum *slots; /* parts that are not in the sorter yet, by a hash of the pair */
	struct sorter *sorter;
	struct similar_sum next; /* the next part that was read */
	int result; /* of reading it */
};

/* Returns 0 or -ENOMEM. */
MUST_CHECK int similar_sums_begin(struct similar_sums *sums);

void similar_sums_free(struct similar_sums *sums);

/* Adds a part to the sum of a pair. Returns 0 or -errno. */
MUST_CHECK int similar_sums_add(struct similar_sums *sums, const struct similar_sum *part);

/* Sorts the sums. After that, no part can be added. Returns 0 or -errno. */
MUST_CHECK int similar_sums_finish(struct similar_sums *sums);

/* Gets the next pair with its sum. Returns 0, -ENOENT at the end, -EINTR if stop_requested(), or
 * another -errno. */
MUST_CHECK int similar_sums_next(struct similar_sums *sums, struct similar_sum *sum);

#endif
