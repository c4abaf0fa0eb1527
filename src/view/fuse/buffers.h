/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_BUFFERS_H
#define VIEW_FUSE_BUFFERS_H

/* Buffers for replies, which are reused. Without reuse, malloc takes new pages from the kernel for
 * each request, and the kernel clears them. The clearing was a tenth of the work of reading a large
 * file. Any thread. */

#include <pthread.h>
#include <stddef.h>

#include "base/attributes.h"

/* Maximum number of idle buffers: one for each thread of the loop. Further buffers are freed. */
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

void buffers_init(struct buffers *buffers);
void buffers_deinit(struct buffers *buffers);

/* Returns a buffer of at least size bytes with undefined content; data is NULL if memory is short.
 * In both cases, the caller must return the buffer by buffers_return. */
struct buffer buffers_take(struct buffers *buffers, size_t size);
void buffers_return(struct buffers *buffers, struct buffer buffer);

#endif
