/* SPDX-License-Identifier: MIT */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

/* Growing arrays and sets of numbers.
 *
 * The owner of an array has three fields: the items, which malloc(3) allocated, their count,
 * and the capacity. All zeros is an empty array; free(3) releases the items. Pure code. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Makes room for count items in all. The capacity doubles, so appending n items one by one copies
 * O(n).
 *
 * items	points to the pointer to the items, which changes if they move
 * capacity	in items
 * item_bytes	the size of one item
 *
 * Returns 0, or -ENOMEM and leaves the array as it was. */
MUST_CHECK int array_reserve(void *items, size_t *capacity, size_t count, size_t item_bytes);

/* ---- sets of numbers --------------------------------------------------------------- */

/* A set of numbers other than 0. All zeros is an empty set. One thread at a time. Takes 11 to 32
 * bytes for each number. */

struct number_set {
	uint64_t *slots; /* open addressing; 0: free */
	size_t count, capacity; /* capacity is 0 or a power of 2 */
};

/* Adds a number. Returns 1 if it was not in the set, 0 if it was, or -ENOMEM. */
MUST_CHECK int number_set_add(struct number_set *set, uint64_t number);
bool number_set_has(const struct number_set *set, uint64_t number);
void number_set_free(struct number_set *set);

#endif
