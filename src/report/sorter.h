/* SPDX-License-Identifier: MIT */
#ifndef REPORT_SORTER_H
#define REPORT_SORTER_H

/* Puts numbers in the order of keys, in bounded memory: what does not fit is sorted in parts, which
 * go to a file without a name in $TMPDIR or /tmp and are merged (Knuth, The Art of Computer
 * Programming 3, 5.4). n log n comparisons; each key is written and read once where memory does not
 * do. One thread at a time.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct sorter;

/* memory_bytes: of keys and numbers; as much may be added by merging. 0 or -ENOMEM. */
MUST_CHECK int sorter_new(struct sorter **sorter, size_t memory_bytes);

void sorter_free(struct sorter *sorter); /* accepts NULL */
static inline void sorter_freep(struct sorter **sorter)
{
	sorter_free(*sorter);
}
#define CLEANUP_SORTER CLEANUP(sorter_freep)

/* Adds a number with its key, which is copied. 0 or -errno, of the file too. */
MUST_CHECK int sorter_add(struct sorter *sorter, const void *key, size_t length, uint64_t number);

/* Ends the adding; after that, sorter_next() gives the numbers, that with the lowest key first
 * (memcmp(3), a shorter key before a longer one that begins like it, then by number). 0, -ENOENT at
 * the end, or -errno. */
MUST_CHECK int sorter_finish(struct sorter *sorter);
MUST_CHECK int sorter_next(struct sorter *sorter, uint64_t *number);

#endif
