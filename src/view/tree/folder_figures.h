/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_FOLDER_FIGURES_H
#define VIEW_TREE_FOLDER_FIGURES_H

/* How many folders are whole copies, for .twinfs/. The index does not count them: this cache counts
 * them again when a folder group has changed. That takes 0.3 s for 100,000 groups of two folders,
 * and memory for the folders of one group. A count of more than FOLDER_COUNT_FREE_NS is used for 50
 * times as long, so counting takes 2 % of the time at most. Any thread. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/clock.h"

struct catalog_reader;
struct catalog_totals;

/* The rules of folder_count_add_whole() (choose/folder_tree.h) count, except that no folder is
 * spared. */
struct folder_figures {
	uint64_t groups; /* those that `list --folders` prints */
	uint64_t redundant; /* folders that are whole copies */
	uint64_t redundant_bytes; /* sizes of the files in them; each name counts */
};

/* Time of the processor that a count may take, whatever the time since the last one. */
#define FOLDER_COUNT_FREE_NS (50 * MS_NS)

struct folder_cache {
	pthread_mutex_t lock;
	bool known;
	uint64_t changes; /* catalog_totals.folder_changes for which the figures are valid */
	struct folder_figures figures;
	uint64_t valid_until_ns; /* CLOCK_MONOTONIC; the figures are used until then in any case */
};

void folder_cache_init(struct folder_cache *cache);
void folder_cache_deinit(struct folder_cache *cache);

/* Gets the figures; totals must be those of the reader. If a count takes long, the figures can be
 * those of an earlier state. redundant_bytes is never more than those of
 * the totals: hard links do not make more bytes redundant than the redundant files have. Returns 0
 * or -errno. */
MUST_CHECK int folder_figures_get(struct folder_cache *cache, struct catalog_reader *reader,
				  const struct catalog_totals *totals,
				  struct folder_figures *figures);

#endif
