/* SPDX-License-Identifier: MIT */
#ifndef VIEW_KNOWN_NUMBERS_H
#define VIEW_KNOWN_NUMBERS_H

/* The numbers that groups of one hash have for a caller of a shared view, where there are many of
 * them: contents with one XXH3 hash are easily made. A group's number counts the caller's groups up
 * to it, so without this memory a listing would take the square of their count.
 *
 * A numbering is valid until the next commit, and for twenty times as long as it took to make: the
 * rights of the caller may change. All numberings together have a bounded size. Any thread. */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/hash.h"

struct bytes;

/* Whose groups of which hash, in which snapshot. */
struct number_key {
	uint64_t caller; /* caller_digest */
	struct hash128 hash;
	uint64_t generation; /* of the catalog */
};

/* A group of a numbering: one of both is given, the other one is 0. */
struct numbered {
	uint32_t ordinal; /* in the index */
	uint32_t number; /* for the caller, from 1 */
};

/* How many numberings are remembered at most, and how many groups all of them have. */
#define KNOWN_NUMBERS_MAX 4096
#define KNOWN_NUMBERS_GROUPS_MAX ((size_t)1 << 20)

struct known_numbers {
	pthread_mutex_t lock;
	struct known_numbering *list; /* by a hash of the key; NULL: none are known */
	size_t groups; /* of all */
};

void known_numbers_init(struct known_numbers *numbers);
void known_numbers_deinit(struct known_numbers *numbers);

/* Fills in what is 0, by a numbering: ordinals of type uint32_t, ascending. False if it has no such
 * group. */
MUST_CHECK bool numbered_find(const struct bytes *ordinals, struct numbered *group);

/* Returns false if no numbering is known. Else fills in what is 0, or leaves it so if the numbering has
 * no such group. Times are those of clock_monotonic_ns. */
MUST_CHECK bool known_numbers_get(struct known_numbers *numbers, const struct number_key *key,
				  struct numbered *group, uint64_t now_ns);

/* Takes the ordinals of a numbering, which was made from began_ns to now_ns. Without memory, nothing is
 * remembered. */
void known_numbers_put(struct known_numbers *numbers, const struct number_key *key,
		       struct bytes *ordinals, uint64_t began_ns, uint64_t now_ns);

#endif
