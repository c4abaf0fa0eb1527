/* SPDX-License-Identifier: MIT */
#define HASH_NONFATAL_OOM 1
#include "watch/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <uthash.h>

#include "base/descriptor.h"
#include "watch/watch.h"

/* IN_EXCL_UNLINK is not set: a file that was opened by a removed name can have other names. Writes
 * to such a file are reported only under the removed name. IN_DONT_FOLLOW is not set, as
 * queue_add() passes a magic link of /proc/self/fd. */
#define EVENTS                                                                              \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | \
	 IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

/* A watched directory. Events identify the directory by a number of the kernel. These numbers count
 * up, and repeat only after 2^31 watches. So a late event of an ended watch is not taken for an
 * event of another watch. */
struct queue_watch {
	int number; /* of the kernel */
	uint64_t dir; /* number of the caller */
	UT_hash_handle by_number;
	UT_hash_handle by_dir;
};

int queue_open(struct queue *queue, unsigned int number)
{
	*queue = (struct queue){.bit = (uint64_t)1 << number};
	queue->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return queue->fd < 0 ? -errno : 0;
}

void queue_close(struct queue *queue)
{
	struct queue_watch *watch = queue->by_dir, *next;

	HASH_CLEAR(by_number, queue->by_number);
	HASH_CLEAR(by_dir, queue->by_dir);
	for (; watch; watch = next) {
		next = watch->by_dir.next;
		free(watch);
	}
	event_set_reset(&queue->pending);
	if (queue->fd >= 0)
		(void)close(queue->fd);
	queue->fd = -1;
}

static struct queue_watch *find_number(const struct queue *queue, int number)
{
	struct queue_watch *watch;

	HASH_FIND(by_number, queue->by_number, &number, sizeof(number), watch);
	return watch;
}

static struct queue_watch *find_dir(const struct queue *queue, uint64_t dir)
{
	struct queue_watch *watch;

	HASH_FIND(by_dir, queue->by_dir, &dir, sizeof(dir), watch);
	return watch;
}

static void remove_watch(struct queue *queue, struct queue_watch *watch)
{
	HASH_DELETE(by_number, queue->by_number, watch);
	HASH_DELETE(by_dir, queue->by_dir, watch);
	free(watch);
}

/* Takes ownership of watch, also if it returns -ENOMEM. */
static int add_watch(struct queue *queue, struct queue_watch *watch)
{
	HASH_ADD(by_number, queue->by_number, number, sizeof(watch->number), watch);
	if (!watch->by_number.tbl) {
		free(watch);
		return -ENOMEM;
	}
	HASH_ADD(by_dir, queue->by_dir, dir, sizeof(watch->dir), watch);
	if (!watch->by_dir.tbl) {
		HASH_DELETE(by_number, queue->by_number, watch);
		free(watch);
		return -ENOMEM;
	}
	return 0;
}

int queue_add(struct queue *queue, int fd, uint64_t dir, uint64_t *known)
{
	struct queue_watch *watch;
	int number, r;

	number = inotify_add_watch(queue->fd, fd_path(fd).text, EVENTS);
	if (number < 0)
		return errno == ENOSPC ? WATCH_FULL : -errno;
	watch = find_number(queue, number);
	if (watch) {
		if (watch->dir == dir)
			return WATCH_ADDED;
		*known = watch->dir;
		return WATCH_KNOWN;
	}
	queue_remove(queue, dir);
	watch = calloc(1, sizeof(*watch));
	r = -ENOMEM;
	if (watch) {
		watch->number = number;
		watch->dir = dir;
		r = add_watch(queue, watch);
	}
	if (r < 0)
		(void)inotify_rm_watch(queue->fd, number);
	return r;
}

int queue_renumber(struct queue *queue, uint64_t from, uint64_t to)
{
	struct queue_watch *watch = find_dir(queue, from);

	if (!watch || from == to)
		return 0;
	queue_remove(queue, to);
	HASH_DELETE(by_dir, queue->by_dir, watch);
	watch->dir = to;
	HASH_ADD(by_dir, queue->by_dir, dir, sizeof(watch->dir), watch);
	if (watch->by_dir.tbl)
		return 0;
	(void)inotify_rm_watch(queue->fd, watch->number);
	HASH_DELETE(by_number, queue->by_number, watch);
	free(watch);
	return -ENOMEM;
}

void queue_remove(struct queue *queue, uint64_t dir)
{
	struct queue_watch *watch = find_dir(queue, dir);

	if (!watch)
		return;
	/* fails if the directory was deleted and IN_IGNORED was not read yet */
	(void)inotify_rm_watch(queue->fd, watch->number);
	remove_watch(queue, watch);
}

size_t queue_directories(const struct queue *queue)
{
	return HASH_CNT(by_dir, queue->by_dir);
}

void queue_overflow(struct queue *queue)
{
	if (queue->pending.overflowed)
		return;
	event_set_reset(&queue->pending);
	queue->pending.overflowed = queue->bit;
	queue->overflows++;
}

int queue_take(struct queue *queue, struct event_set *set)
{
	int r;

	queue->pending.has_moved_out = queue->moved_out > 0;
	queue->moved_out = 0;
	queue->written = false;
	r = event_set_merge(set, &queue->pending);
	if (r == 0)
		return 0;
	queue_overflow(queue);
	queue->pending.overflowed = 0;
	set->overflowed |= queue->bit;
	return r;
}

/* Returns whether the moved name comes from a watched directory. */
static bool comes_from_watched(struct queue *queue, const struct inotify_event *event)
{
	for (size_t i = 0; i < QUEUE_COOKIES; i++) {
		if (queue->cookies[i] == event->cookie) {
			queue->moved_out -= queue->moved_out > 0;
			return true;
		}
	}
	return false;
}

static void note_moved_from(struct queue *queue, const struct inotify_event *event)
{
	queue->moved_out++;
	queue->cookies[queue->next_cookie] = event->cookie;
	queue->next_cookie = (queue->next_cookie + 1) % QUEUE_COOKIES;
}

static uint32_t events_of(struct queue *queue, const struct inotify_event *event, bool named)
{
	uint32_t mask = event->mask, events = 0;

	if (!named)
		return EVENT_ATTRIBUTES;
	if (mask & IN_CREATE)
		events |= EVENT_NAME | EVENT_CREATED;
	if (mask & IN_DELETE)
		events |= EVENT_NAME | EVENT_REMOVED;
	if (mask & (IN_MOVED_FROM | IN_MOVED_TO))
		events |= EVENT_NAME;
	if (mask & IN_MOVED_FROM)
		note_moved_from(queue, event);
	if (mask & IN_MOVED_TO)
		events |= comes_from_watched(queue, event) ? EVENT_MOVED_HERE : EVENT_MOVED_IN;
	if (mask & IN_ISDIR && events & (EVENT_CREATED | EVENT_MOVED_IN))
		events |= EVENT_NEW_DIR;
	if (mask & IN_MODIFY)
		events |= EVENT_WRITTEN;
	if (mask & IN_CLOSE_WRITE)
		events |= EVENT_WRITTEN | EVENT_CLOSED;
	if (mask & IN_ATTRIB)
		events |= EVENT_ATTRIBUTES;
	return events;
}

static void take_event(struct queue *queue, const struct inotify_event *event)
{
	bool written = event->mask & (IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB);
	struct queue_watch *watch;
	uint32_t length = 0;

	queue->events++;
	queue->written |= written;
	queue->rename_is_split = event->mask & IN_MOVED_FROM;
	if (event->mask & IN_Q_OVERFLOW)
		queue_overflow(queue);
	watch = find_number(queue, event->wd);
	if (!watch) {
		if ((written || event->mask & (IN_CREATE | IN_MOVED_TO)) && event->len > 0)
			queue->pending.has_unknown_dir = true;
		return;
	}
	if (event->mask & IN_IGNORED) {
		/* the directory was deleted or its file system unmounted; an earlier event reported
		 * this
		 */
		remove_watch(queue, watch);
		return;
	}
	if (queue->pending.overflowed)
		return;
	if (event->len > 0)
		length = (uint32_t)strnlen(event->name, event->len);
	if (event_set_add(&queue->pending, watch->dir, event->name, length,
			  events_of(queue, event, length > 0)) < 0)
		queue_overflow(queue);
}

size_t queue_read(struct queue *queue, char *buffer)
{
	const struct inotify_event *event;
	size_t at = 0, length;
	ssize_t got = read(queue->fd, buffer, QUEUE_BUFFER_BYTES);

	if (got < 0 && errno != EAGAIN && errno != EINTR)
		queue_overflow(queue); /* events are possibly lost */
	if (got <= 0)
		return 0;
	length = (size_t)got;
	while (at < length) {
		event = (const void *)(buffer + at);
		take_event(queue, event);
		at += sizeof(*event) + event->len;
	}
	return length;
}

void queue_read_all(struct queue *queue, char *buffer)
{
	int waiting = 0;
	size_t left, got;

	if (ioctl(queue->fd, FIONREAD, &waiting) < 0) {
		queue_overflow(queue);
		return;
	}
	for (left = (size_t)waiting; left > 0; left -= got < left ? got : left) {
		got = queue_read(queue, buffer);
		if (got == 0)
			return;
	}
}
