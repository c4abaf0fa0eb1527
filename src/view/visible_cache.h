/* SPDX-License-Identifier: MIT */
#ifndef VIEW_VISIBLE_CACHE_H
#define VIEW_VISIBLE_CACHE_H

/* Cache of the copies of a large group that are visible to a caller. Without this cache, a listing
 * of a folder with many copies of one group would check all copies for each copy. An entry is valid
 * while the group is unchanged, and for at most twenty times as long as its computation took. These
 * checks take at most a twentieth of the time. Any thread. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"

/* The copies of a group that are visible to a caller. */
struct visible_copies {
	uint64_t inodes; /* number of visible inodes */
	/* file id of the copy that uniques/ shows the caller, or 0 if none is visible */
	uint64_t kept;
};

/* Identifies an entry. */
struct visible_key {
	uint64_t caller; /* caller_digest */
	uint64_t group;
	struct timespec changed; /* time of the last change in the group's record */
};

/* Limit of entries. */
#define VISIBLE_CACHE_MAX 4096

struct visible_cache {
	pthread_mutex_t lock;
	struct visible_entry *list; /* array indexed by a hash of the key; NULL if empty */
};

void visible_cache_init(struct visible_cache *visible_cache);
void visible_cache_deinit(struct visible_cache *visible_cache);

/* Returns false if there is no valid entry. Times are those of clock_monotonic_ns. */
MUST_CHECK bool visible_cache_get(struct visible_cache *visible_cache,
				  const struct visible_key *key, struct visible_copies *visible,
				  uint64_t now_ns);

/* Stores a result that was computed from began_ns to now_ns. Without memory, nothing is stored. */
void visible_cache_put(struct visible_cache *visible_cache, const struct visible_key *key,
		       const struct visible_copies *visible, uint64_t began_ns, uint64_t now_ns);

#endif
