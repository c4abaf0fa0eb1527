/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/numbers.h"

/* Locations of a memory limit: the controllers as in /proc/self/cgroup, the folder of that
 * hierarchy, and the file in the folder of a control group (cgroups(7)). */
static const struct location {
	const char *controllers, *hierarchy, *file;
} locations[] = {
	{"", "", "memory.max"}, /* version 2 */
	{"memory", "/memory", "memory.limit_in_bytes"}, /* version 1 */
};

/* Returns the lowest limit of the control group and its ancestors. In a container, the path of the
 * group possibly exists only outside; the group of the container is then the uppermost visible
 * folder. */
static uint64_t limit_of_group(const char *root, const struct location *location, char *group)
{
	uint64_t least = UINT64_MAX, limit;
	char path[PATH_MAX];
	size_t length = strlen(group);

	for (;;) {
		while (length > 0 && group[length - 1] == '/')
			length--;
		if (snprintf(path, sizeof(path), "%s%s%.*s/%s", root, location->hierarchy,
			     (int)length, group, location->file) < (int)sizeof(path)) {
			/* without a limit, the file has "max" or a number near the maximum */
			limit = number_read_file(path);
			least = limit < least ? limit : least;
		}
		if (length == 0)
			return least;
		while (length > 0 && group[length - 1] != '/')
			length--;
	}
}

uint64_t memory_limit_of_groups(const char *groups, const char *root)
{
	AUTO_FCLOSE FILE *file = fopen(groups, "re");
	AUTO_FREE char *line = NULL;
	uint64_t least = UINT64_MAX, limit;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		char *controllers, *group;

		line[strcspn(line, "\n")] = '\0';
		controllers = strchr(line, ':');
		group = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!group)
			continue;
		*group++ = '\0';
		for (size_t i = 0; i < ARRAY_SIZE(locations); i++) {
			if (strcmp(controllers + 1, locations[i].controllers) != 0)
				continue;
			limit = limit_of_group(root, &locations[i], group);
			least = limit < least ? limit : least;
		}
	}
	return least;
}

static uint64_t memory_of_machine(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

	return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : UINT64_MAX;
}

static uint64_t found;

static void find(void)
{
	uint64_t groups = memory_limit_of_groups("/proc/self/cgroup", "/sys/fs/cgroup");
	uint64_t machine = memory_of_machine();

	found = groups < machine ? groups : machine;
}

uint64_t memory_limit(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find);
	return found;
}

uint64_t memory_at_most(uint64_t usual, unsigned int part)
{
	uint64_t most = memory_limit() / part;

	return usual < most ? usual : most;
}

/* ---- arenas ------------------------------------------------------------------------ */

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
