/* SPDX-License-Identifier: MIT */
#include "watch/queue.h"

int queue_open(struct queue *queue, unsigned int number)
{
	*queue = (struct queue){.pending.bit = (uint64_t)1 << number};
	return inotify_queue_open(&queue->inotify);
}

void queue_close(struct queue *queue)
{
	inotify_queue_close(&queue->inotify);
	event_set_reset(&queue->pending.set);
}

int queue_add(struct queue *queue, int fd, uint64_t dir, uint64_t *known)
{
	return inotify_queue_add(&queue->inotify, fd, dir, known);
}

int queue_renumber(struct queue *queue, uint64_t from, uint64_t to)
{
	return inotify_queue_renumber(&queue->inotify, from, to);
}

void queue_remove(struct queue *queue, uint64_t dir)
{
	inotify_queue_remove(&queue->inotify, dir);
}

size_t queue_directories(const struct queue *queue)
{
	return inotify_queue_directories(&queue->inotify);
}

int queue_descriptor(const struct queue *queue)
{
	return queue->inotify.fd;
}

bool queue_is_split(const struct queue *queue)
{
	return queue->inotify.rename_is_split;
}

void queue_end_split(struct queue *queue)
{
	queue->inotify.rename_is_split = false;
}

size_t queue_read(struct queue *queue, char *buffer)
{
	return inotify_queue_read(&queue->inotify, &queue->pending, buffer, QUEUE_BUFFER_BYTES);
}

void queue_read_all(struct queue *queue, char *buffer)
{
	inotify_queue_read_all(&queue->inotify, &queue->pending, buffer, QUEUE_BUFFER_BYTES);
}
