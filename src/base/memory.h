/* SPDX-License-Identifier: MIT */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>

#define MEMORY_PAGE_BYTES ((size_t)4 << 10)

/* Larger blocks are mapped, each for itself, and go back to the system when they are freed. */
#define MEMORY_MAPPED_BYTES (256 << 10)

/* Sets the allocator up for a process that lives long and works in bursts; before the first thread.
 * An arena for each thread would hold what its thread took at the height of a burst: after 100,000
 * files came and went that was 80 MiB, and is 15 with one arena. No thread allocates much while it
 * walks or compares, so they seldom wait for each other. */
static inline void memory_set_up(void)
{
#ifdef __GLIBC__
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there are no other threads yet */
	(void)mallopt(M_ARENA_MAX, 1);
	/* set, it does not grow with what is freed */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the same */
	(void)mallopt(M_MMAP_THRESHOLD, MEMORY_MAPPED_BYTES);
	/* the first call sets up what a sanitizer, with an allocator of its own, did not; two threads
	 * cannot do that at a time */
	(void)malloc_trim(0);
#endif
}

/* Memory that files are read into: whole pages, which the caller frees, or NULL. What malloc gives
 * begins 16 bytes into a page where it is large; the kernel's copy from the page cache is then four
 * times slower on some processors (Zen 3: 1.8 instead of 7.5 GB/s), as the copy instruction does
 * not like a target that lies a little behind its source within a page. */
static inline void *memory_pages(size_t bytes)
{
	return aligned_alloc(MEMORY_PAGE_BYTES,
			     (bytes + MEMORY_PAGE_BYTES - 1) & ~(MEMORY_PAGE_BYTES - 1));
}

/* Gives memory that was freed back to the system, as far as it makes whole pages: what is left of a
 * burst of work. Takes some milliseconds; any thread. */
static inline void memory_give_back(void)
{
#ifdef __GLIBC__
	(void)malloc_trim(0);
#endif
}

#endif
