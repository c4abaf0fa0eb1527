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
	size_t total_bytes; /* size of all blocks */
};

/* Allocates size bytes, aligned to 8 bytes. Returns NULL if memory is short. */
void *arena_take(struct arena *arena, size_t size);

/* Allocates a copy of length bytes, followed by a NUL. Returns NULL if memory is short. */
char *arena_copy(struct arena *arena, const void *data, size_t length);

/* Frees all pieces and all blocks but the newest, which the next pieces use again. */
void arena_reset(struct arena *arena);

/* Frees everything. */
void arena_free(struct arena *arena);

#endif
