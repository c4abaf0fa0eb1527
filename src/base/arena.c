/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)64 << 10)
#define ALIGNMENT 8

struct arena_block {
	struct arena_block *previous;
	size_t size_bytes;
	_Alignas(ALIGNMENT) uint8_t data[];
};

static int add_block(struct arena *arena, size_t size)
{
	struct arena_block *block;

	if (size < BLOCK_BYTES)
		size = BLOCK_BYTES;
	block = malloc(sizeof(*block) + size);
	if (!block)
		return -1;
	block->previous = arena->block;
	block->size_bytes = size;
	arena->block = block;
	arena->used_bytes = 0;
	arena->total_bytes += size;
	return 0;
}

void *arena_take(struct arena *arena, size_t size)
{
	void *piece;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if ((!arena->block || arena->block->size_bytes - arena->used_bytes < size) &&
	    add_block(arena, size) < 0)
		return NULL;
	piece = arena->block->data + arena->used_bytes;
	arena->used_bytes += size;
	return piece;
}

char *arena_copy(struct arena *arena, const void *data, size_t length)
{
	char *copy = arena_take(arena, length + 1);

	if (copy) {
		if (length > 0)
			memcpy(copy, data, length);
		copy[length] = '\0';
	}
	return copy;
}

static void free_blocks(struct arena_block *block)
{
	while (block) {
		struct arena_block *previous = block->previous;

		free(block);
		block = previous;
	}
}

void arena_reset(struct arena *arena)
{
	if (!arena->block)
		return;
	free_blocks(arena->block->previous);
	arena->block->previous = NULL;
	arena->used_bytes = 0;
	arena->total_bytes = arena->block->size_bytes;
}

void arena_free(struct arena *arena)
{
	free_blocks(arena->block);
	*arena = (struct arena){0};
}
