/* SPDX-License-Identifier: MIT */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

/* The memory of the process: its allocator, its limit, and arenas. */

#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/attributes.h"

#define MEMORY_PAGE_BYTES ((size_t)4 << 10)

/* Larger blocks are mapped separately and returned to the system when they are freed. */
#define MEMORY_MAPPED_BYTES (256 << 10)

/* Configures the allocator for a long-lived process that works in bursts. Call it before the first
 * thread starts. With one arena per thread, each arena would keep the memory of the largest burst
 * of its thread. After 100,000 files were created and removed, the arenas of all threads kept 80
 * MiB. A single arena kept 15 MiB. Threads seldom wait for each other, because none allocates much
 * while it walks or compares. */
static inline void memory_set_up(void)
{
#ifdef __GLIBC__
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there are no other threads yet */
	(void)mallopt(M_ARENA_MAX, 1);
	/* a fixed threshold does not grow with the size of freed blocks */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there are no other threads yet */
	(void)mallopt(M_MMAP_THRESHOLD, MEMORY_MAPPED_BYTES);
	/* the first call initializes the allocator if a sanitizer replaced it; two threads must not
	 * initialize it at the same time */
	(void)malloc_trim(0);
#endif
}

/* Allocates whole pages as a buffer for reading files. The caller frees them. Returns NULL if
 * memory is short. A large block of malloc() begins 16 bytes into a page. The target of a copy from
 * the page cache then has a slightly higher offset in the page than the source. Such a copy is four
 * times slower on some processors (Zen 3: 1.8 instead of 7.5 GB/s). */
static inline void *memory_pages(size_t bytes)
{
	return aligned_alloc(MEMORY_PAGE_BYTES,
			     (bytes + MEMORY_PAGE_BYTES - 1) & ~(MEMORY_PAGE_BYTES - 1));
}

/* Returns freed memory to the system, as far as it makes whole pages. Call it after a burst of
 * work. Takes some milliseconds; any thread. */
static inline void memory_trim(void)
{
#ifdef __GLIBC__
	(void)malloc_trim(0);
#endif
}

/* Returns the bytes of memory that this process may use, or UINT64_MAX if unknown. This is the
 * memory of the machine, or a lower limit of the control group or its ancestors (cgroups(7),
 * version 1 or 2). The first call reads /proc and /sys: main() makes it before the process is
 * confined. Any thread. */
uint64_t memory_limit(void);

/* Returns the usual size of a buffer, or memory_limit() / part if that is less. */
uint64_t memory_at_most(uint64_t usual, unsigned int part);

/* For tests: returns the limit of the control groups listed in a file like /proc/self/cgroup, or
 * UINT64_MAX if there is none. The hierarchies are mounted below root. */
uint64_t memory_limit_of_groups(const char *groups, const char *root);

/* ---- arenas ------------------------------------------------------------------------ */

/* Memory that is allocated in small pieces and freed all at once. Pieces never move. A struct arena
 * of zeros is valid and empty. Not shared between threads.
 */

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
#define CLEANUP_ARENA CLEANUP(arena_free)

#endif
