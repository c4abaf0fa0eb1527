/* SPDX-License-Identifier: MIT */
#ifndef BASE_NUMBER_SET_H
#define BASE_NUMBER_SET_H

/* A set of numbers other than 0. All zeros is an empty set. One thread at a time. Takes 11 to 32
 * bytes for each number. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct number_set {
	uint64_t *slots; /* open addressing; 0: free */
	size_t count, capacity; /* capacity is 0 or a power of 2 */
};

/* Adds a number. Returns 1 if it was not in the set, 0 if it was, or -ENOMEM. */
MUST_CHECK int number_set_add(struct number_set *set, uint64_t number);
bool number_set_has(const struct number_set *set, uint64_t number);
void number_set_free(struct number_set *set);

#endif
