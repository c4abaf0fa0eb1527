/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_BUFFERS_H
#define MOUNT_BUFFERS_H

/* Memory in which answers are put together, used again: pages that malloc gets from the system and
 * gives back for each request are cleared each time, which was a tenth of the work of reading a
 * large file. Any thread. */

#include <pthread.h>
#include <stddef.h>

#include "base/attributes.h"

/* As many as there are threads that answer; what more come is freed. */
#define BUFFERS_MAX 16

struct buffer {
	char *data;
	size_t size;
};

struct buffers {
	pthread_mutex_t lock;
	struct buffer idle[BUFFERS_MAX];
	size_t count;
};

MUST_CHECK int buffers_init(struct buffers *buffers);
void buffers_deinit(struct buffers *buffers);

/* Gives one of at least size bytes, which hold anything; data is NULL without memory. For
 * buffers_give, in any case. */
struct buffer buffers_take(struct buffers *buffers, size_t size);
void buffers_give(struct buffers *buffers, struct buffer buffer);

#endif
