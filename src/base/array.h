/* SPDX-License-Identifier: MIT */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

/* Growing arrays. The owner has three fields: the items, which malloc(3) allocated, their count,
 * and the capacity. All zeros is an empty array; free(3) releases the items. Pure code. */

#include <stddef.h>

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

#endif
