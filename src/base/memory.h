/* SPDX-License-Identifier: MIT */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <malloc.h>

/* Gives memory that was freed back to the system. A burst of work leaves the allocator with what it
 * took at its height, in an arena for each thread, for as long as the process lives. Takes some
 * milliseconds; any thread. */
static inline void memory_give_back(void)
{
#ifdef __GLIBC__
	(void)malloc_trim(0);
#endif
}

#endif
