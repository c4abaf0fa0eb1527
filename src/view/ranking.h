/* SPDX-License-Identifier: MIT */
#ifndef VIEW_RANKING_H
#define VIEW_RANKING_H

/* Which group has which rank. The index has groups in the order of what they would give back, but
 * does not count them. So the place of each RANKING_STEP-th one is remembered here, as far as
 * somebody came, until the order changes: then who asks for a rank goes at most from the last place
 * that is remembered to there, and who asks for all of them goes through them once. Any thread. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/attributes.h"
#include "catalog/query.h"
#include "catalog/scan.h"

#define RANKING_STEP 64

struct ranking {
	pthread_mutex_t lock;
	uint64_t order; /* catalog_totals.order that the places are of */
	struct rank_entry *places; /* of ranks 1, 1 + RANKING_STEP ... */
	size_t count, capacity;
	_Atomic uint64_t folders; /* the most that by-size/ ever had */
};

void ranking_init(struct ranking *ranking);
void ranking_deinit(struct ranking *ranking);

/* by-size/ has so many folders in some snapshot. Gives the most that it ever had. */
uint64_t ranking_show_folders(struct ranking *ranking, uint64_t folders);

/* Begins a walk that catalog_next_rank goes on with: it gives the group of this rank first, which
 * is from 1 to totals->groups. totals are those of the reader. 0, -ENOMEM or -EUCLEAN ... */
MUST_CHECK int ranking_scan(struct ranking *ranking, struct catalog_reader *reader,
			    const struct catalog_totals *totals, uint64_t rank,
			    struct catalog_scan **scan);

#endif
