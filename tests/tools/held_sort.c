/* SPDX-License-Identifier: MIT */

/* Preloaded into twinfs, holds the first sort of HELD_COUNT names of a watched folder: writes a byte
 * to the pipe HELD_PIPE, and waits for one in the pipe HELD_UNTIL. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "view/fuse/watcher_event.h"

typedef void sort_fn(void *list, size_t count, size_t bytes,
		     int (*compare)(const void *, const void *));

static sort_fn *sort;
static size_t held_count;
static int held = -1, until = -1;
static atomic_bool was_held;

static const char *setting(const char *name)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment */
	const char *value = getenv(name);

	return value ? value : "";
}

/* The daemon may open no files later. */
__attribute__((constructor)) static void begin(void)
{
	*(void **)&sort = dlsym(RTLD_NEXT, "qsort"); /* as POSIX has it */
	held = open(setting("HELD_PIPE"), O_WRONLY | O_CLOEXEC);
	until = open(setting("HELD_UNTIL"), O_RDONLY | O_CLOEXEC);
	held_count = strtoull(setting("HELD_COUNT"), NULL, 10);
}

void qsort(void *list, size_t count, size_t bytes, int (*compare)(const void *, const void *))
{
	char byte = 'h';

	if (count == held_count && bytes == sizeof(struct listed_name) &&
	    !atomic_exchange(&was_held, true) && write(held, &byte, 1) == 1)
		(void)!read(until, &byte, 1);
	sort(list, count, bytes, compare);
}
