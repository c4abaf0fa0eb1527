/* SPDX-License-Identifier: MIT */
#ifndef VIEW_RANKING_H
#define VIEW_RANKING_H

/* Ranks of groups. The index orders groups by reclaimable bytes, but does not count them. This
 * cache stores the position of every RANKING_STEP-th group, as far as queries have needed it. The
 * positions are valid until the order changes. A query for a rank walks from the last stored
 * position before that rank, and a query for all ranks walks once. Any thread. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/attributes.h"
#include "catalog/scan.h"

#define RANKING_STEP 64

struct ranking {
	pthread_mutex_t lock;
	uint64_t order; /* catalog_totals.order for which the positions are valid */
	struct rank_entry *positions; /* positions of ranks 1, 1 + RANKING_STEP ... */
	size_t count, capacity;
	_Atomic uint64_t folders; /* largest number of folders that by-size/ ever had */
};

void ranking_init(struct ranking *ranking);
void ranking_deinit(struct ranking *ranking);

/* Records that by-size/ has this number of folders in some snapshot. Returns the largest number
 * that it ever had. */
uint64_t ranking_max_folders(struct ranking *ranking, uint64_t folders);

/* Begins a walk, continued by catalog_next_rank, whose first group has this rank: 1 to
 * totals->groups. totals must be those of the reader. Returns 0, -EUCLEAN if the index has fewer
 * groups, or another -errno. */
MUST_CHECK int ranking_scan(struct ranking *ranking, struct catalog_reader *reader,
			    const struct catalog_totals *totals, uint64_t rank,
			    struct catalog_scan **scan);

#endif
