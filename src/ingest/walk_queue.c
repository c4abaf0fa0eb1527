/* SPDX-License-Identifier: MIT */
#include "ingest/walk_queue.h"

#include "base/stop.h"
#include "ingest/walk_dir.h"

/* A directory that waited adds WAIT_WEIGHT, any other directory subtracts 1. At WAITS_MAX a thread
 * is admitted. So a thread that is interrupted now and then admits none. */
#define WAIT_WEIGHT 16
#define WAITS_MAX 24

void walk_queue_init(struct walk_queue *queue, unsigned int workers)
{
	*queue = (struct walk_queue){.admitted = workers};
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->changed, NULL);
	pthread_cond_init(&queue->admission, NULL);
}

void walk_queue_deinit(struct walk_queue *queue)
{
	walk_dir_release_list(queue->sorted);
	walk_dir_release_list(queue->first);
	pthread_mutex_destroy(&queue->lock);
	pthread_cond_destroy(&queue->changed);
	pthread_cond_destroy(&queue->admission);
}

/* Wakes all threads, so that they end. The caller holds the lock. */
static void end(struct walk_queue *queue)
{
	queue->ended = true;
	pthread_cond_broadcast(&queue->changed);
	pthread_cond_broadcast(&queue->admission);
}

void walk_queue_join(struct walk_queue *queue)
{
	unsigned int number;

	pthread_mutex_lock(&queue->lock);
	number = queue->joined++;
	while (number >= queue->admitted && !queue->ended)
		pthread_cond_wait(&queue->admission, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
}

/* The caller holds the lock. */
static void note_wait(struct walk_queue *queue, bool waited)
{
	if (!waited) {
		queue->waits -= queue->waits > 0;
		return;
	}
	queue->waits += WAIT_WEIGHT;
	if (queue->waits < WAITS_MAX)
		return;
	queue->waits = 0;
	queue->admitted++;
	pthread_cond_broadcast(&queue->admission);
}

/* The caller holds the lock. */
static void append(struct walk_queue *queue, struct walk_dir *list, struct walk_dir *last)
{
	if (queue->last)
		queue->last->next = list;
	else
		queue->first = list;
	queue->last = last;
}

/* The caller holds the lock. */
static void prepend(struct walk_queue *queue, struct walk_dir *list, struct walk_dir *last)
{
	last->next = queue->first;
	queue->first = list;
	if (!queue->last)
		queue->last = last;
}

void walk_queue_push(struct walk_queue *queue, struct walk_dir *list, struct walk_dir *last,
		     size_t count, enum walk_order order)
{
	if (count == 0)
		return;
	pthread_mutex_lock(&queue->lock);
	if (order == WALK_NEXT)
		prepend(queue, list, last);
	else
		append(queue, list, last);
	queue->open_dirs += count;
	if (count == 1)
		pthread_cond_signal(&queue->changed);
	else
		pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

/* The caller holds the lock. */
static struct walk_dir *take_first(struct walk_queue *queue, bool seeks)
{
	struct walk_dir *dir;

	if (!queue->sorted && seeks) {
		queue->sorted = walk_dir_sort(queue->first);
		queue->first = queue->last = NULL;
	}
	dir = queue->sorted;
	if (dir) {
		queue->sorted = dir->next;
		return dir;
	}
	dir = queue->first;
	if (dir)
		queue->first = dir->next;
	if (!queue->first)
		queue->last = NULL;
	return dir;
}

struct walk_dir *walk_queue_pop(struct walk_queue *queue, size_t dirs_max, bool seeks)
{
	struct walk_dir *dir = NULL;

	pthread_mutex_lock(&queue->lock);
	while (!queue->first && !queue->sorted && queue->open_dirs > 0 && !queue->error)
		pthread_cond_wait(&queue->changed, &queue->lock);
	if (queue->error || queue->open_dirs == 0 || stop_requested())
		end(queue);
	else if (queue->open_dirs <= dirs_max)
		dir = take_first(queue, seeks);
	pthread_mutex_unlock(&queue->lock);
	return dir;
}

void walk_queue_finish(struct walk_queue *queue, struct walk_dir *dir, bool waited, int error)
{
	pthread_mutex_lock(&queue->lock);
	if (error < 0 && queue->error == 0)
		queue->error = error;
	queue->open_dirs--;
	if (queue->open_dirs == 0 || queue->error)
		end(queue);
	note_wait(queue, waited);
	pthread_mutex_unlock(&queue->lock);
	walk_dir_release(dir);
}
