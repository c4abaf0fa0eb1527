/* SPDX-License-Identifier: MIT */
#include "view/tree/ranking.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "index/scan.h"

void ranking_init(struct ranking *ranking, ranking_scan_fn *scan_table)
{
	*ranking = (struct ranking){.scan_table = scan_table, .lock = PTHREAD_MUTEX_INITIALIZER};
}

void ranking_deinit(struct ranking *ranking)
{
	free(ranking->positions);
	pthread_mutex_destroy(&ranking->lock);
}

uint64_t ranking_max_folders(struct ranking *ranking, uint64_t folders)
{
	uint64_t most = atomic_load(&ranking->folders);

	while (folders > most) {
		if (atomic_compare_exchange_weak(&ranking->folders, &most, folders))
			return folders;
	}
	return most;
}

static int store_position(struct ranking *ranking, const struct rank_entry *position)
{
	int r = array_reserve(&ranking->positions, &ranking->capacity, ranking->count + 1,
			      sizeof(*ranking->positions));

	if (r == 0)
		ranking->positions[ranking->count++] = *position;
	return r;
}

/* Extends the stored positions until there are this many. */
static int extend(struct ranking *ranking, struct catalog_reader *reader, size_t wanted)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	const struct rank_entry *from = NULL;
	struct rank_entry position;
	size_t ahead = 0; /* groups before the next position to store */
	int r;

	if (ranking->count > 0) {
		from = &ranking->positions[ranking->count - 1];
		ahead = RANKING_STEP;
	}
	r = ranking->scan_table(reader, from, &scan);
	while (r == 0 && ranking->count < wanted) {
		r = catalog_next_rank_entry(scan, &position);
		if (r == 0 && ahead-- == 0) {
			r = store_position(ranking, &position);
			ahead = RANKING_STEP - 1;
		}
	}
	return r == -ENOENT ? -EUCLEAN : r; /* fewer groups than in the totals */
}

/* Fills in the stored position at or before a rank. */
static int find(struct ranking *ranking, struct catalog_reader *reader, uint64_t order,
		size_t number, struct rank_entry *position)
{
	int r = 0;

	pthread_mutex_lock(&ranking->lock);
	if (ranking->order != order)
		ranking->count = 0;
	ranking->order = order;
	if (number >= ranking->count)
		r = extend(ranking, reader, number + 1);
	if (r == 0)
		*position = ranking->positions[number];
	pthread_mutex_unlock(&ranking->lock);
	return r;
}

int ranking_scan(struct ranking *ranking, struct catalog_reader *reader, uint64_t order,
		 uint64_t rank, struct catalog_scan **scan)
{
	struct rank_entry position;
	int r = find(ranking, reader, order, (rank - 1) / RANKING_STEP, &position);

	if (r == 0)
		r = ranking->scan_table(reader, &position, scan);
	for (uint64_t i = (rank - 1) % RANKING_STEP; r == 0 && i > 0; i--)
		r = catalog_next_rank_entry(*scan, &position);
	return r == -ENOENT ? -EUCLEAN : r;
}
