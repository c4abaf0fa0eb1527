/* SPDX-License-Identifier: MIT */
#include "base/json_memory.h"

#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include "base/log.h"

static void *allocate_or_end(size_t size)
{
	void *memory = malloc(size);

	if (memory != NULL)
		return memory;
	log_error("out of memory");
	_exit(EXIT_FAILURE);
}

void json_memory_init(void)
{
	json_set_alloc_funcs(allocate_or_end, free);
}
