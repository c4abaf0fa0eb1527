/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_RANKING_H
#define VIEW_TREE_RANKING_H

/* Ranks of groups, of files or of folders. The index orders groups by reclaimable bytes, but does
 * not count them. This cache stores the position of every RANKING_STEP-th group, as far as queries
 * have needed it. The positions are valid until the order changes. A query for a rank walks from
 * the last stored position before that rank, and a query for all ranks walks once. Any thread. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/attributes.h"
#include "index/scan.h"

#define RANKING_STEP 64

/* catalog_scan_ranks() or catalog_scan_folder_ranks() */
typedef int ranking_scan_fn(struct catalog_reader *r, const struct rank_entry *from,
			    struct catalog_scan **scan);

struct ranking {
	ranking_scan_fn *scan_table;
	pthread_mutex_t lock;
	uint64_t order; /* order of the groups for which the positions are valid */
	struct rank_entry *positions; /* positions of ranks 1, 1 + RANKING_STEP ... */
	size_t count, capacity;
	_Atomic uint64_t folders; /* largest number of folders of ranks that there ever were */
};

void ranking_init(struct ranking *ranking, ranking_scan_fn *scan_table);
void ranking_deinit(struct ranking *ranking);

/* Records that there are this many folders of ranks in some snapshot. Returns the largest number
 * that there ever were. */
uint64_t ranking_max_folders(struct ranking *ranking, uint64_t folders);

/* Begins a walk, continued by catalog_next_rank_entry, whose first group has this rank, from 1 on.
 * order: catalog_totals.order or folder_order of the reader. Returns 0, -EUCLEAN if the index has
 * fewer groups, or another -errno. */
MUST_CHECK int ranking_scan(struct ranking *ranking, struct catalog_reader *reader, uint64_t order,
			    uint64_t rank, struct catalog_scan **scan);

#endif
