/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_SORTER_H
#define CHOOSE_SORTER_H

/* Sorts numbers by keys in bounded memory. If the keys do not fit, sorted runs are written to an
 * unnamed file in $TMPDIR or /tmp. The runs are merged as in Knuth, The Art of Computer Programming
 * 3, 5.4. Takes n log n comparisons. Each key in the file is written and read once. One thread at a
 * time.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct sorter;

/* Creates a sorter. memory_bytes limits keys and numbers in memory. The merge takes one block of
 * each run instead, which can be as much memory. Returns 0 or -ENOMEM. */
MUST_CHECK int sorter_new(struct sorter **sorter, size_t memory_bytes);

void sorter_free(struct sorter *sorter); /* accepts NULL */
static inline void sorter_freep(struct sorter **sorter)
{
	sorter_free(*sorter);
}
#define CLEANUP_SORTER CLEANUP(sorter_freep)

/* Adds a number with its key, which is copied. Returns 0 or -errno. */
MUST_CHECK int sorter_add(struct sorter *sorter, const void *key, size_t length, uint64_t number);

/* Sorts the numbers. After that, no number can be added. Returns 0 or -errno. */
MUST_CHECK int sorter_finish(struct sorter *sorter);

/* Sets *number to the next number. Numbers are ordered by their keys. Keys are compared by
 * memcmp(3), and a key is before its extensions. Numbers with equal keys are ordered by number.
 * Must be called after sorter_finish(). Returns 0, -ENOENT at the end, or another -errno. */
MUST_CHECK int sorter_next(struct sorter *sorter, uint64_t *number);

/* Works like sorter_next(), and also copies the key, which must have this length. */
MUST_CHECK int sorter_next_key(struct sorter *sorter, void *key, size_t length, uint64_t *number);

/* Works like sorter_next(), and also replaces the bytes by the key, of any length. */
MUST_CHECK int sorter_next_bytes(struct sorter *sorter, struct bytes *key, uint64_t *number);

#endif
