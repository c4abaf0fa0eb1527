/* SPDX-License-Identifier: MIT */
#include "row/json_read.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"

static _Thread_local bool is_reading;

/* Ends the process if memory is short while JSON is read. Code that writes JSON receives NULL and
 * can handle it. */
static void *allocate(size_t size)
{
	void *memory = malloc(size);

	if (memory || !is_reading)
		return memory;
	log_error("out of memory");
	_exit(EXIT_FAILURE);
}

static void set_functions(void)
{
	json_set_alloc_funcs(allocate, free);
}

json_t *json_read(const char *text, size_t length, size_t flags)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	json_t *value;

	pthread_once(&once, set_functions);
	is_reading = true;
	value = json_loadb(text, length, flags, NULL);
	is_reading = false;
	return value;
}
