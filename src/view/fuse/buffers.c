/* SPDX-License-Identifier: MIT */
#include "view/fuse/buffers.h"

#include <stdlib.h>

#include "base/memory.h"

/* Minimum size, so that buffers of listings can be reused for reads. */
#define SIZE_MIN (128U << 10)

void buffers_init(struct buffers *buffers)
{
	*buffers = (struct buffers){.count = 0};
	pthread_mutex_init(&buffers->lock, NULL);
}

void buffers_deinit(struct buffers *buffers)
{
	for (size_t i = 0; i < buffers->count; i++)
		free(buffers->idle[i].data);
	pthread_mutex_destroy(&buffers->lock);
}

struct buffer buffers_take(struct buffers *buffers, size_t size)
{
	struct buffer buffer = {0};

	if (size < SIZE_MIN)
		size = SIZE_MIN;
	pthread_mutex_lock(&buffers->lock);
	if (buffers->count)
		buffer = buffers->idle[--buffers->count];
	pthread_mutex_unlock(&buffers->lock);
	if (buffer.size >= size)
		return buffer;
	free(buffer.data);
	buffer.data = memory_pages(size);
	buffer.size = buffer.data ? size : 0;
	return buffer;
}

void buffers_return(struct buffers *buffers, struct buffer buffer)
{
	pthread_mutex_lock(&buffers->lock);
	if (buffer.data && buffers->count < BUFFERS_MAX) {
		buffers->idle[buffers->count++] = buffer;
		buffer.data = NULL;
	}
	pthread_mutex_unlock(&buffers->lock);
	free(buffer.data);
}
