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
#include "view/follow/watch.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "view/follow/queue.h"

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
	alignas(max_align_t) char buffer[QUEUE_BUFFER_BYTES];
	pthread_mutex_t lock;
	struct queue *queues;
	unsigned int count;
	bool wake_sent; /* wake() was called since the last watch_take() */
	/* becomes readable when the drain thread must end, or a queue has another descriptor */
	int poke_fd;
	bool ends; /* the drain thread must end */
	bool runs; /* the drain thread was started */
	pthread_t thread;
	void (*wake)(void *context);
	void *context;
};

static bool is_pending(const struct queue *queue)
{
	const struct event_set *pending = &queue->pending.set;

	return pending->count > 0 || queue->pending.inodes.count > 0 || pending->overflowed ||
	       pending->has_unknown_dir;
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
		bytes += pending_events_bytes(&watch->queues[i].pending);
		if (pending_events_bytes(&watch->queues[i].pending) >
		    pending_events_bytes(&largest->pending))
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

/* Fills the list for poll(2). Returns whether the thread has to end. */
static bool list_descriptors(struct watch *watch, struct pollfd *files)
{
	bool ends;

	pthread_mutex_lock(&watch->lock);
	for (unsigned int i = 0; i < watch->count; i++)
		files[i] = (struct pollfd){.fd = queue_descriptor(&watch->queues[i]),
					   .events = POLLIN};
	ends = watch->ends;
	pthread_mutex_unlock(&watch->lock);
	files[watch->count] = (struct pollfd){.fd = watch->poke_fd, .events = POLLIN};
	return ends;
}

static void *run_drain(void *context)
{
	struct watch *watch = context;
	struct pollfd files[WATCH_QUEUES_MAX + 1];
	struct pollfd *poke = &files[watch->count];
	eventfd_t number;

	while (!list_descriptors(watch, files)) {
		(void)poll(files, watch->count + 1, -1);
		if (poke->revents)
			(void)eventfd_read(watch->poke_fd, &number);
		else if (!drain(watch))
			(void)poll(poke, 1, PAUSE_MS);
	}
	return NULL;
}

static void poke(struct watch *watch)
{
	(void)eventfd_write(watch->poke_fd, 1);
}

static int start(struct watch *watch)
{
	int r;

	watch->poke_fd = eventfd(0, EFD_CLOEXEC);
	if (watch->poke_fd < 0)
		return -errno;
	r = thread_start(&watch->thread, run_drain, watch);
	watch->runs = r == 0;
	return r;
}

static int open_queues(struct watch *watch, const struct watch_settings *settings)
{
	struct fanotify_group *groups = settings->groups;
	int r = 0;

	watch->queues = calloc(settings->queues, sizeof(watch->queues[0]));
	if (!watch->queues)
		return -ENOMEM;
	while (r == 0 && watch->count < settings->queues) {
		const struct queue_settings queue = {
			.number = watch->count,
			.group = groups ? &groups[watch->count] : NULL,
			.prefers_fanotify = settings->prefers_fanotify,
		};

		r = queue_open(&watch->queues[watch->count], &queue);
		watch->count++;
	}
	return r;
}

/* The walkers of a source hold the lock for a few microseconds each. Sleeping takes longer. */
static void init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

int watch_new(struct watch **watch, const struct watch_settings *settings)
{
	struct watch *made;
	int r;

	assert(settings->queues > 0 && settings->queues <= WATCH_QUEUES_MAX);
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	init_lock(&made->lock);
	made->poke_fd = -1;
	made->wake = settings->wake;
	made->context = settings->context;
	r = open_queues(made, settings);
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
		pthread_mutex_lock(&watch->lock);
		watch->ends = true;
		pthread_mutex_unlock(&watch->lock);
		poke(watch);
		pthread_join(watch->thread, NULL);
	}
	for (unsigned int i = 0; i < watch->count; i++)
		queue_close(&watch->queues[i]);
	if (watch->poke_fd >= 0)
		(void)close(watch->poke_fd);
	pthread_mutex_destroy(&watch->lock);
	free(watch->queues);
	free(watch);
}

int watch_add(struct watch *watch, unsigned int queue, int fd, uint64_t dir, uint64_t *known)
{
	int before, after, r;

	assert(queue < watch->count && dir > 0);
	pthread_mutex_lock(&watch->lock);
	before = queue_descriptor(&watch->queues[queue]);
	r = queue_add(&watch->queues[queue], fd, dir, known, watch->buffer);
	after = queue_descriptor(&watch->queues[queue]);
	unlock_and_wake(watch);
	if (after != before)
		poke(watch);
	return r;
}

void watch_renumber(struct watch *watch, unsigned int queue, uint64_t from, uint64_t to)
{
	assert(queue < watch->count && to > 0);
	pthread_mutex_lock(&watch->lock);
	queue_renumber(&watch->queues[queue], from, to);
	pthread_mutex_unlock(&watch->lock);
}

void watch_remove(struct watch *watch, unsigned int queue, uint64_t dir)
{
	assert(queue < watch->count);
	pthread_mutex_lock(&watch->lock);
	queue_remove(&watch->queues[queue], dir);
	pthread_mutex_unlock(&watch->lock);
}

bool watch_has(struct watch *watch, unsigned int queue, uint64_t dir)
{
	bool has;

	assert(queue < watch->count);
	pthread_mutex_lock(&watch->lock);
	has = queue_has(&watch->queues[queue], dir);
	pthread_mutex_unlock(&watch->lock);
	return has;
}

void watch_note_unmounted(struct watch *watch, unsigned int queue)
{
	assert(queue < watch->count);
	pthread_mutex_lock(&watch->lock);
	queue_note_unmounted(&watch->queues[queue]);
	pthread_mutex_unlock(&watch->lock);
	poke(watch);
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
		if (queue_take(&watch->queues[i], set) < 0)
			r = -ENOMEM;
	}
	watch->wake_sent = false;
	pthread_mutex_unlock(&watch->lock);
	return r;
}

int watch_take_inodes(struct watch *watch, struct event_set *inodes)
{
	int r = 0;

	pthread_mutex_lock(&watch->lock);
	for (unsigned int i = 0; r == 0 && i < watch->count; i++)
		r = event_set_merge(inodes, &watch->queues[i].pending.inodes);
	pthread_mutex_unlock(&watch->lock);
	return r;
}

bool watch_reports_links(struct watch *watch, unsigned int queue)
{
	bool reports;

	assert(queue < watch->count);
	pthread_mutex_lock(&watch->lock);
	reports = queue_reports_links(&watch->queues[queue]);
	pthread_mutex_unlock(&watch->lock);
	return reports;
}

static bool is_written(const struct pending_events *pending)
{
	return pending->written;
}

static bool is_removed(const struct pending_events *pending)
{
	return pending->removed;
}

/* Reads all events. Returns whether the test is true for a queue, or a queue lost events. */
static bool is_any(struct watch *watch, bool (*is)(const struct pending_events *pending))
{
	bool found = false;

	pthread_mutex_lock(&watch->lock);
	read_all(watch);
	for (unsigned int i = 0; i < watch->count; i++)
		found |= is(&watch->queues[i].pending) || watch->queues[i].pending.set.overflowed;
	unlock_and_wake(watch);
	return found;
}

bool watch_has_written(struct watch *watch)
{
	return is_any(watch, is_written);
}

bool watch_has_removed(struct watch *watch)
{
	return is_any(watch, is_removed);
}

void watch_figures(struct watch *watch, struct watch_figures *figures)
{
	*figures = (struct watch_figures){.queues = watch->count};
	pthread_mutex_lock(&watch->lock);
	for (unsigned int i = 0; i < watch->count; i++) {
		figures->fanotify_queues += queue_uses_fanotify(&watch->queues[i]);
		figures->directories += queue_directories(&watch->queues[i]);
		figures->events += watch->queues[i].pending.events;
		figures->overflows += watch->queues[i].pending.overflows;
	}
	pthread_mutex_unlock(&watch->lock);
}

void watch_close_reserve(struct watch *watch)
{
	pthread_mutex_lock(&watch->lock);
	for (unsigned int i = 0; i < watch->count; i++)
		queue_close_reserve(&watch->queues[i]);
	pthread_mutex_unlock(&watch->lock);
}
