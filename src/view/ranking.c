/* SPDX-License-Identifier: MIT */
#include "view/ranking.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "catalog/scan.h"

void ranking_init(struct ranking *ranking)
{
	*ranking = (struct ranking){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void ranking_deinit(struct ranking *ranking)
{
	free(ranking->places);
	pthread_mutex_destroy(&ranking->lock);
}

uint64_t ranking_show_folders(struct ranking *ranking, uint64_t folders)
{
	uint64_t most = atomic_load(&ranking->folders);

	while (folders > most) {
		if (atomic_compare_exchange_weak(&ranking->folders, &most, folders))
			return folders;
	}
	return most;
}

static int remember(struct ranking *ranking, const struct rank_entry *place)
{
	int r = array_reserve(&ranking->places, &ranking->capacity, ranking->count + 1,
			      sizeof(*ranking->places));

	if (r == 0)
		ranking->places[ranking->count++] = *place;
	return r;
}

/* Goes on from the last place that is remembered until there are so many. */
static int learn(struct ranking *ranking, struct catalog_reader *reader, size_t wanted)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	const struct rank_entry *from = NULL;
	struct rank_entry place;
	size_t ahead = 0; /* groups until the next place */
	int r;

	if (ranking->count > 0) {
		from = &ranking->places[ranking->count - 1];
		ahead = RANKING_STEP;
	}
	r = catalog_scan_ranks(reader, from, &scan);
	while (r == 0 && ranking->count < wanted) {
		r = catalog_next_rank_entry(scan, &place);
		if (r == 0 && ahead-- == 0) {
			r = remember(ranking, &place);
			ahead = RANKING_STEP - 1;
		}
	}
	return r == -ENOENT ? -EUCLEAN : r; /* fewer than the totals say */
}

/* The place at or before a rank. */
static int find(struct ranking *ranking, struct catalog_reader *reader,
		const struct catalog_totals *totals, size_t number, struct rank_entry *place)
{
	int r = 0;

	pthread_mutex_lock(&ranking->lock);
	if (ranking->order != totals->order)
		ranking->count = 0;
	ranking->order = totals->order;
	if (number >= ranking->count)
		r = learn(ranking, reader, number + 1);
	if (r == 0)
		*place = ranking->places[number];
	pthread_mutex_unlock(&ranking->lock);
	return r;
}

int ranking_scan(struct ranking *ranking, struct catalog_reader *reader,
		 const struct catalog_totals *totals, uint64_t rank, struct catalog_scan **scan)
{
	struct rank_entry place;
	int r = find(ranking, reader, totals, (rank - 1) / RANKING_STEP, &place);

	if (r == 0)
		r = catalog_scan_ranks(reader, &place, scan);
	for (uint64_t i = (rank - 1) % RANKING_STEP; r == 0 && i > 0; i--)
		r = catalog_next_rank_entry(*scan, &place);
	return r == -ENOENT ? -EUCLEAN : r;
}
