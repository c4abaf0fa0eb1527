/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_VISIBLE_CACHE_H
#define VIEW_TREE_VISIBLE_CACHE_H

/* Caches of what a caller of a shared view sees (view/tree/visible_copies.h). The permissions of
 * the caller can change, so a result is valid for at most twenty times as long as its computation
 * took. The checks of permissions take at most a twentieth of the time. The size is bounded. Any
 * thread.
 *
 * Times are those of clock_monotonic_ns. Without memory, nothing is stored. */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "base/hash.h"

struct bytes;

/* ---- copies of a large group --------------------------------------------------------- */

/* Without this cache, a listing of a folder with many copies of one group would check all copies
 * for each copy. An entry is also valid only while the group is unchanged. */

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

/* Returns false if there is no valid entry. */
MUST_CHECK bool visible_cache_get(struct visible_cache *visible_cache,
				  const struct visible_key *key, struct visible_copies *visible,
				  uint64_t now_ns);

/* Stores a result that was computed from began_ns to now_ns. */
void visible_cache_put(struct visible_cache *visible_cache, const struct visible_key *key,
		       const struct visible_copies *visible, uint64_t began_ns, uint64_t now_ns);

/* ---- numbers of groups with one hash ------------------------------------------------- */

/* Contents with equal XXH3 hashes can be made easily, so one hash can have many groups. The number
 * of a group counts the caller's groups up to it; without a cache, a listing would need quadratic
 * time. A numbering is also valid only until the next commit. */

/* Identifies a numbering. */
struct number_key {
	uint64_t caller; /* caller_digest */
	struct hash128 hash;
	uint64_t generation; /* generation of the catalog's snapshot */
};

/* A group of a numbering: one field is given, the other is 0. */
struct numbered {
	uint32_t ordinal; /* ordinal in the index */
	uint32_t number; /* number for the caller, from 1 on */
};

/* Limits of the number of numberings, and of the groups in all of them. */
#define KNOWN_NUMBERS_MAX 4096
#define KNOWN_NUMBERS_GROUPS_MAX ((size_t)1 << 20)

struct known_numbers {
	pthread_mutex_t lock;
	struct known_numbering *list; /* array indexed by a hash of the key; NULL if empty */
	size_t groups; /* number of groups in all numberings */
};

void known_numbers_init(struct known_numbers *numbers);
void known_numbers_deinit(struct known_numbers *numbers);

/* Fills in the field that is 0. ordinals: uint32_t, ascending. Returns false if the numbering has
 * no such group. */
MUST_CHECK bool numbered_find(const struct bytes *ordinals, struct numbered *group);

/* Returns false if the numbering is not cached. If it is cached, fills in the field that is 0; this
 * field stays 0 if the numbering has no such group. */
MUST_CHECK bool known_numbers_get(struct known_numbers *numbers, const struct number_key *key,
				  struct numbered *group, uint64_t now_ns);

/* Stores a numbering, which was computed from began_ns to now_ns. Takes the ordinals. */
void known_numbers_put(struct known_numbers *numbers, const struct number_key *key,
		       struct bytes *ordinals, uint64_t began_ns, uint64_t now_ns);

#endif
