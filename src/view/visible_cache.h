/* SPDX-License-Identifier: MIT */
#ifndef VIEW_VISIBLE_CACHE_H
#define VIEW_VISIBLE_CACHE_H

/* What of a large group was for whom when that was found out last: to list a folder with many
 * copies of it, all of them would else be tried at the source for each. It is believed for twenty
 * times as long as it took to find out, so that no more than a twentieth of the time is spent on
 * it, and only while the group stays what it is. Any thread. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"

/* The copies in a group that somebody finds. */
struct visible_copies {
	uint64_t inodes; /* how many */
	uint64_t kept; /* file id of the one that uniques/ shows him, 0: he finds none */
};

/* Whose share in what it is. */
struct visible_key {
	uint64_t caller; /* caller_digest */
	uint64_t group;
	struct timespec changed; /* of the group's record */
};

/* How many are remembered at most. */
#define KNOWN_SHARES_MAX 4096

struct visible_cache {
	pthread_mutex_t lock;
	struct visible_entry *list; /* by a hash of the key; NULL: none are known */
};

void visible_cache_init(struct visible_cache *visible_cache);
void visible_cache_deinit(struct visible_cache *visible_cache);

/* False: it is not known, or not any more. Times are those of clock_monotonic_ns. */
MUST_CHECK bool visible_cache_get(struct visible_cache *visible_cache,
				  const struct visible_key *key, struct visible_copies *visible,
				  uint64_t now_ns);

/* Finding out took from began_ns to now_ns. Without memory nothing is remembered. */
void visible_cache_put(struct visible_cache *visible_cache, const struct visible_key *key,
		       const struct visible_copies *visible, uint64_t began_ns, uint64_t now_ns);

#endif
