/* SPDX-License-Identifier: MIT */
#ifndef PARTIAL_RUNS_H
#define PARTIAL_RUNS_H

/* Runs of equal blocks. Pure code, one thread.
 *
 * Each block that can share the space of an earlier block is in one run as a destination. The
 * source of a run is never the destination of another run. So the runs can be shared in any order,
 * and at the same time: no sharing takes the space away from a file that shared it before.
 *
 *	blocks	A B C D   A B C D   x B C D
 *	runs	sources   <- 1 --   <- 2 -     both have the sources in the first range
 *
 * The search is that of Lempel and Ziv (1977): the longest earlier match of each place, then the
 * place behind it. A match is extended backwards to blocks that are in no run. Each block takes at
 * most RUN_CANDIDATES comparisons for each block of the match.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "partial/block_table.h"

/* Highest number of equal blocks whose surroundings are compared with those of a block. If more are
 * equal, half of them are the first ones of their class, and half of them the last ones before the
 * block. So runs can be shorter than the longest ones, but each block has its place in a run. */
#define RUN_CANDIDATES 64U

struct block_run {
	uint32_t source, destination; /* numbers of their first blocks in the table */
	uint32_t count; /* of blocks */
};

struct run_list {
	struct block_run *list;
	size_t count, capacity;
};

void run_list_free(struct run_list *runs);
#define CLEANUP_RUN_LIST CLEANUP(run_list_free)

/* Appends a run. Returns 0 or -ENOMEM. */
MUST_CHECK int run_list_add(struct run_list *runs, const struct block_run *run);

/* Finds the runs of a table with classes, in the order of their destinations.
 *
 * min_blocks	shorter matches are left out. A match can be shared as several runs, as its source
 *		can be in several places; these runs can be shorter.
 *
 * Returns 0, -EINTR if stop_requested(), or -ENOMEM. */
MUST_CHECK int runs_find(const struct block_table *table, uint32_t min_blocks,
			 struct run_list *runs);

/* Returns the bytes of a run. */
uint64_t run_bytes(const struct block_table *table, const struct block_run *run);

/* Sorts runs by length, the longest first, then by destination. */
void runs_sort(struct run_list *runs);

#endif
