/* SPDX-License-Identifier: MIT */

/* Threads and queues; one lock protects everything:
 *
 *	kernel queue 0 --+
 *	kernel queue 1 --+-- drain thread --> queue.pending --+-- watch_take --> event_set
 *	...            --+                                    |
 *	     \------------- watch_take also reads them --------+
 *
 * The drain thread moves events from the short queues of the kernel to memory, where each name has
 * one entry regardless of how often it changes. An event is assigned to the caller's number of its
 * directory when it is read from the kernel.
 */
#include "watch/watch.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "watch/queue.h"

/* Number and length of the waits for the second event of a rename. Without this event, a renamed
 * directory seems to be removed, and must be walked again later. If the name left the source, the
 * event never arrives. */
#define SPLIT_TRIES 10
#define SPLIT_MS 2

/* Pause after a read of few events. A program that writes without pause then does not wake the
 * thread for every block: the kernel merges equal events that are not yet read. During the pause, a
 * program cannot fill a queue of 16384 events. */
#define PAUSE_MS 2

struct watch {
	alignas(struct inotify_event) char buffer[QUEUE_BUFFER_BYTES];
	pthread_mutex_t lock;
	struct queue *queues;
	unsigned int count;
	bool wake_sent; /* wake() was called since the last watch_take() */
	int end_fd; /* becomes readable when the drain thread must end */
	bool runs; /* the drain thread was started */
	pthread_t thread;
	void (*wake)(void *context);
	void *context;
};

static bool is_pending(const struct queue *queue)
{
	const struct event_set *pending = &queue->pending.set;

	return pending->count > 0 || pending->overflowed || pending->has_unknown_dir;
}

static bool anything_pending(const struct watch *watch)
{
	for (unsigned int i = 0; i < watch->count; i++) {
		if (is_pending(&watch->queues[i]))
			return true;
	}
	return false;
}

/* Enforces WATCH_PENDING_MAX. */
static void bound_memory(struct watch *watch)
{
	struct queue *largest = &watch->queues[0];
	size_t bytes = 0;

	for (unsigned int i = 0; i < watch->count; i++) {
		bytes += watch->queues[i].pending.set.bytes;
		if (watch->queues[i].pending.set.bytes > largest->pending.set.bytes)
			largest = &watch->queues[i];
	}
	if (bytes > WATCH_PENDING_MAX)
		pending_events_overflow(&largest->pending);
}

/* Releases the lock. Calls wake() if events are pending and it was not called since the last
 * watch_take().
 */
static void unlock_and_wake(struct watch *watch)
{
	bool wakes = !watch->wake_sent && anything_pending(watch);

	if (wakes)
		watch->wake_sent = true;
	pthread_mutex_unlock(&watch->lock);
	if (wakes)
		watch->wake(watch->context);
}

/* Reads each queue once. Returns whether a queue of the kernel probably has more events. */
static bool drain(struct watch *watch)
{
	bool more = false;

	pthread_mutex_lock(&watch->lock);
	for (unsigned int i = 0; i < watch->count; i++) {
		if (queue_read(&watch->queues[i], watch->buffer) > QUEUE_BUFFER_BYTES / 2)
			more = true;
		bound_memory(watch);
	}
	unlock_and_wake(watch);
	return more;
}

static void *run_drain(void *context)
{
	struct watch *watch = context;
	struct pollfd files[WATCH_QUEUES_MAX + 1];
	struct pollfd *end = &files[watch->count];

	for (unsigned int i = 0; i < watch->count; i++)
		files[i] = (struct pollfd){.fd = queue_descriptor(&watch->queues[i]),
					   .events = POLLIN};
	*end = (struct pollfd){.fd = watch->end_fd, .events = POLLIN};
	for (;;) {
		(void)poll(files, watch->count + 1, -1);
		if (end->revents)
			return NULL;
		if (!drain(watch))
			(void)poll(end, 1, PAUSE_MS);
	}
}

static int start(struct watch *watch)
{
	int r;

	watch->end_fd = eventfd(0, EFD_CLOEXEC);
	if (watch->end_fd < 0)
		return -errno;
	r = thread_start(&watch->thread, run_drain, watch);
	watch->runs = r == 0;
	return r;
}

static int open_queues(struct watch *watch, unsigned int queues)
{
	int r = 0;

	watch->queues = calloc(queues, sizeof(watch->queues[0]));
	if (!watch->queues)
		return -ENOMEM;
	while (r == 0 && watch->count < queues) {
		r = queue_open(&watch->queues[watch->count], watch->count);
		watch->count++;
	}
	return r;
}

int watch_new(struct watch **watch, unsigned int queues, void (*wake)(void *context), void *context)
{
	struct watch *made;
	int r;

	assert(queues > 0 && queues <= WATCH_QUEUES_MAX);
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	pthread_mutex_init(&made->lock, NULL);
	made->end_fd = -1;
	made->wake = wake;
	made->context = context;
	r = open_queues(made, queues);
	if (r == 0)
		r = start(made);
	if (r < 0)
		watch_free(made);
	else
		*watch = made;
	return r;
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	if (watch->runs) {
		(void)eventfd_write(watch->end_fd, 1);
		pthread_join(watch->thread, NULL);
	}
	for (unsigned int i = 0; i < watch->count; i++)
		queue_close(&watch->queues[i]);
	if (watch->end_fd >= 0)
		(void)close(watch->end_fd);
	pthread_mutex_destroy(&watch->lock);
	free(watch->queues);
	free(watch);
}

int watch_add(struct watch *watch, unsigned int queue, int fd, uint64_t dir, uint64_t *known)
{
	int r;

	assert(queue < watch->count && dir > 0);
	pthread_mutex_lock(&watch->lock);
	r = queue_add(&watch->queues[queue], fd, dir, known);
	pthread_mutex_unlock(&watch->lock);
	return r;
}

int watch_renumber(struct watch *watch, unsigned int queue, uint64_t from, uint64_t to)
{
	int r;

	assert(queue < watch->count && to > 0);
	pthread_mutex_lock(&watch->lock);
	r = queue_renumber(&watch->queues[queue], from, to);
	pthread_mutex_unlock(&watch->lock);
	return r;
}

void watch_remove(struct watch *watch, unsigned int queue, uint64_t dir)
{
	assert(queue < watch->count);
	pthread_mutex_lock(&watch->lock);
	queue_remove(&watch->queues[queue], dir);
	pthread_mutex_unlock(&watch->lock);
}

static void read_all(struct watch *watch)
{
	for (unsigned int i = 0; i < watch->count; i++)
		queue_read_all(&watch->queues[i], watch->buffer);
}

static bool has_split_rename(const struct watch *watch)
{
	bool split = false;

	for (unsigned int i = 0; i < watch->count; i++)
		split |= queue_is_split(&watch->queues[i]);
	return split;
}

/* Waits for second events of renames, because a process can be suspended between the two events.
 * Holds the lock except while it waits. */
static void await_split_renames(struct watch *watch)
{
	for (unsigned int i = 0; i < SPLIT_TRIES && has_split_rename(watch); i++) {
		pthread_mutex_unlock(&watch->lock);
		clock_sleep_ms(SPLIT_MS);
		pthread_mutex_lock(&watch->lock);
		read_all(watch);
	}
	for (unsigned int i = 0; i < watch->count; i++)
		queue_end_split(&watch->queues[i]);
}

int watch_take(struct watch *watch, struct event_set *set)
{
	int r = 0;

	pthread_mutex_lock(&watch->lock);
	read_all(watch);
	await_split_renames(watch);
	for (unsigned int i = 0; i < watch->count; i++) {
		if (pending_events_take(&watch->queues[i].pending, set) < 0)
			r = -ENOMEM;
	}
	watch->wake_sent = false;
	pthread_mutex_unlock(&watch->lock);
	return r;
}

bool watch_has_written(struct watch *watch)
{
	bool written = false;

	pthread_mutex_lock(&watch->lock);
	read_all(watch);
	for (unsigned int i = 0; i < watch->count; i++)
		written |=
			watch->queues[i].pending.written || watch->queues[i].pending.set.overflowed;
	unlock_and_wake(watch);
	return written;
}

void watch_figures(struct watch *watch, struct watch_figures *figures)
{
	*figures = (struct watch_figures){0};
	pthread_mutex_lock(&watch->lock);
	for (unsigned int i = 0; i < watch->count; i++) {
		figures->directories += queue_directories(&watch->queues[i]);
		figures->events += watch->queues[i].pending.events;
		figures->overflows += watch->queues[i].pending.overflows;
	}
	pthread_mutex_unlock(&watch->lock);
}
