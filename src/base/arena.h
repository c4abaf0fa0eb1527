/* SPDX-License-Identifier: MIT */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

/* Memory that is allocated in small pieces and freed all at once. Pieces never move. A struct arena
 * of zeros is valid and empty. Not shared between threads.
 */

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *block; /* the block being filled; linked to earlier blocks */
	size_t used_bytes; /* bytes used in block */
	size_t total_bytes;
};

/* Allocates size bytes, aligned to 8 bytes. Returns NULL if memory is short. */
void *arena_take(struct arena *arena, size_t size);

/* Allocates a copy of length bytes and appends a NUL. */
char *arena_copy(struct arena *arena, const void *data, size_t length);

/* Frees everything but one block, which is used again. */
void arena_reset(struct arena *arena);

/* Frees everything. */
void arena_free(struct arena *arena);

#endif
