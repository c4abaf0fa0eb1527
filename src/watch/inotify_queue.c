/* SPDX-License-Identifier: MIT */
#define HASH_NONFATAL_OOM 1
#include "watch/inotify_queue.h"

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
 * inotify_queue_add() passes a magic link of /proc/self/fd. */
#define EVENTS                                                                              \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | \
	 IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

/* A watched directory. Events identify the directory by a number of the kernel. These numbers count
 * up, and repeat only after 2^31 watches. So a late event of an ended watch is not taken for an
 * event of another watch. */
struct inotify_watch {
	int number; /* of the kernel */
	uint64_t dir; /* number of the caller */
	UT_hash_handle by_number;
	UT_hash_handle by_dir;
};

int inotify_queue_open(struct inotify_queue *queue)
{
	*queue = (struct inotify_queue){0};
	queue->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return queue->fd < 0 ? -errno : 0;
}

void inotify_queue_close(struct inotify_queue *queue)
{
	struct inotify_watch *watch = queue->by_dir, *next;

	HASH_CLEAR(by_number, queue->by_number);
	HASH_CLEAR(by_dir, queue->by_dir);
	for (; watch; watch = next) {
		next = watch->by_dir.next;
		free(watch);
	}
	if (queue->fd >= 0)
		(void)close(queue->fd);
	queue->fd = -1;
}

static struct inotify_watch *find_number(const struct inotify_queue *queue, int number)
{
	struct inotify_watch *watch;

	HASH_FIND(by_number, queue->by_number, &number, sizeof(number), watch);
	return watch;
}

static struct inotify_watch *find_dir(const struct inotify_queue *queue, uint64_t dir)
{
	struct inotify_watch *watch;

	HASH_FIND(by_dir, queue->by_dir, &dir, sizeof(dir), watch);
	return watch;
}

static void remove_watch(struct inotify_queue *queue, struct inotify_watch *watch)
{
	HASH_DELETE(by_number, queue->by_number, watch);
	HASH_DELETE(by_dir, queue->by_dir, watch);
	free(watch);
}

/* Takes ownership of watch, also if it returns -ENOMEM. */
static int add_watch(struct inotify_queue *queue, struct inotify_watch *watch)
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

int inotify_queue_add(struct inotify_queue *queue, int fd, uint64_t dir, uint64_t *known)
{
	struct inotify_watch *watch;
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
	inotify_queue_remove(queue, dir);
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

int inotify_queue_renumber(struct inotify_queue *queue, uint64_t from, uint64_t to)
{
	struct inotify_watch *watch = find_dir(queue, from);

	if (!watch || from == to)
		return 0;
	inotify_queue_remove(queue, to);
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

void inotify_queue_remove(struct inotify_queue *queue, uint64_t dir)
{
	struct inotify_watch *watch = find_dir(queue, dir);

	if (!watch)
		return;
	/* fails if the directory was deleted and IN_IGNORED was not read yet */
	(void)inotify_rm_watch(queue->fd, watch->number);
	remove_watch(queue, watch);
}

size_t inotify_queue_directories(const struct inotify_queue *queue)
{
	return HASH_CNT(by_dir, queue->by_dir);
}

/* Returns whether the moved name comes from a watched directory. */
static bool comes_from_watched(struct inotify_queue *queue, struct pending_events *pending,
			       const struct inotify_event *event)
{
	for (size_t i = 0; i < INOTIFY_COOKIES; i++) {
		if (queue->cookies[i] == event->cookie) {
			pending->moved_out -= pending->moved_out > 0;
			return true;
		}
	}
	return false;
}

static void note_moved_from(struct inotify_queue *queue, const struct inotify_event *event)
{
	queue->cookies[queue->next_cookie] = event->cookie;
	queue->next_cookie = (queue->next_cookie + 1) % INOTIFY_COOKIES;
}

static uint32_t events_of(struct inotify_queue *queue, struct pending_events *pending,
			  const struct inotify_event *event, bool named)
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
	if (mask & IN_MOVED_FROM) {
		note_moved_from(queue, event);
		pending->moved_out++;
	}
	if (mask & IN_MOVED_TO)
		events |= comes_from_watched(queue, pending, event) ? EVENT_MOVED_HERE
								    : EVENT_MOVED_IN;
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

static void take_event(struct inotify_queue *queue, struct pending_events *pending,
		       const struct inotify_event *event)
{
	bool written = event->mask & (IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB);
	struct inotify_watch *watch;
	uint32_t length = 0;

	pending->events++;
	pending->written |= written;
	queue->rename_is_split = event->mask & IN_MOVED_FROM;
	if (event->mask & IN_Q_OVERFLOW)
		pending_events_overflow(pending);
	watch = find_number(queue, event->wd);
	if (!watch) {
		if ((written || event->mask & (IN_CREATE | IN_MOVED_TO)) && event->len > 0)
			pending->set.has_unknown_dir = true;
		return;
	}
	if (event->mask & IN_IGNORED) {
		/* the directory was deleted or its file system unmounted; an earlier event reported
		 * this
		 */
		remove_watch(queue, watch);
		return;
	}
	if (pending->set.overflowed)
		return;
	if (event->len > 0)
		length = (uint32_t)strnlen(event->name, event->len);
	pending_events_add(pending, watch->dir, event->name, length,
			   events_of(queue, pending, event, length > 0));
}

size_t inotify_queue_read(struct inotify_queue *queue, struct pending_events *pending, char *buffer,
			  size_t size)
{
	const struct inotify_event *event;
	size_t at = 0, length;
	ssize_t got = read(queue->fd, buffer, size);

	if (got < 0 && errno != EAGAIN && errno != EINTR)
		pending_events_overflow(pending); /* events are possibly lost */
	if (got <= 0)
		return 0;
	length = (size_t)got;
	while (at < length) {
		event = (const void *)(buffer + at);
		take_event(queue, pending, event);
		at += sizeof(*event) + event->len;
	}
	return length;
}

void inotify_queue_read_all(struct inotify_queue *queue, struct pending_events *pending,
			    char *buffer, size_t size)
{
	int waiting = 0;
	size_t left, got;

	if (ioctl(queue->fd, FIONREAD, &waiting) < 0) {
		pending_events_overflow(pending);
		return;
	}
	for (left = (size_t)waiting; left > 0; left -= got < left ? got : left) {
		got = inotify_queue_read(queue, pending, buffer, size);
		if (got == 0)
			return;
	}
}
