/* SPDX-License-Identifier: MIT */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

/* Memory that is taken in small pieces and given back all at once. Pieces never move. A struct
 * arena that is all zero is empty and valid. Not shared between threads.
 */

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *block; /* the one being filled; earlier ones hang behind it */
	size_t used_bytes; /* of that block */
	size_t total_bytes;
};

/* size bytes, aligned for any object up to 8 bytes; NULL without memory. */
void *arena_take(struct arena *arena, size_t size);

/* A copy of length bytes with a NUL behind. */
char *arena_copy(struct arena *arena, const void *data, size_t length);

/* Gives everything back but one block, for the next use. */
void arena_reset(struct arena *arena);
void arena_free(struct arena *arena);

#endif
