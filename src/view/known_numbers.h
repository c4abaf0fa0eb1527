/* SPDX-License-Identifier: MIT */
#ifndef VIEW_KNOWN_NUMBERS_H
#define VIEW_KNOWN_NUMBERS_H

/* Cache of the numbers that groups with one hash have for a caller of a shared view. Contents with
 * equal XXH3 hashes can be made easily, so one hash can have many groups. The number of a group
 * counts the caller's groups up to it; without a cache, a listing would need quadratic time.
 *
 * A numbering is valid until the next commit. As the permissions of the caller can change, it is
 * valid for at most twenty times as long as its computation took. The total size is bounded. Any
 * thread. */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/hash.h"

struct bytes;

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
 * field stays 0 if the numbering has no such group. Times are those of clock_monotonic_ns. */
MUST_CHECK bool known_numbers_get(struct known_numbers *numbers, const struct number_key *key,
				  struct numbered *group, uint64_t now_ns);

/* Stores a numbering, which was computed from began_ns to now_ns. Takes the ordinals. Without
 * memory, nothing is stored. */
void known_numbers_put(struct known_numbers *numbers, const struct number_key *key,
		       struct bytes *ordinals, uint64_t began_ns, uint64_t now_ns);

#endif
