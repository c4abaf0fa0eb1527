/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "view/follow/queue.h"
#include "view/follow/watch.h"

/* IN_EXCL_UNLINK is not set: a file that was opened by a removed name can have other names. Writes
 * to such a file are reported only under the removed name. IN_DONT_FOLLOW is not set, as
 * inotify_queue_add() passes a magic link of /proc/self/fd. */
#define EVENTS                                                                              \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | \
	 IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

int inotify_queue_open(struct inotify_queue *queue, struct pending_events *pending)
{
	*queue = (struct inotify_queue){.pending = pending};
	queue->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return queue->fd < 0 ? -errno : 0;
}

void inotify_queue_close(struct inotify_queue *queue)
{
	dir_table_reset(&queue->directories);
	if (queue->fd >= 0)
		(void)close(queue->fd);
	queue->fd = -1;
}

int inotify_queue_add(struct inotify_queue *queue, int fd, uint64_t dir, uint64_t *known)
{
	int number = inotify_add_watch(queue->fd, fd_path(fd).text, EVENTS), r;
	uint64_t found;

	if (number < 0)
		return errno == ENOSPC ? WATCH_FULL : -errno;
	found = dir_table_find(&queue->directories, dir_key_of_watch(number));
	if (found == dir)
		return WATCH_ADDED;
	if (found) {
		*known = found;
		return WATCH_KNOWN;
	}
	inotify_queue_remove(queue, dir);
	r = dir_table_add(&queue->directories, dir_key_of_watch(number), dir);
	if (r < 0)
		(void)inotify_rm_watch(queue->fd, number);
	return r;
}

void inotify_queue_remove(struct inotify_queue *queue, uint64_t dir)
{
	struct dir_key key;

	/* fails if the directory was deleted and IN_IGNORED was not read yet */
	if (dir_table_remove(&queue->directories, dir, &key))
		(void)inotify_rm_watch(queue->fd, dir_key_watch(key));
}

/* Returns whether the moved name comes from a watched directory. */
static bool comes_from_watched(struct inotify_queue *queue, const struct inotify_event *event)
{
	for (size_t i = 0; i < INOTIFY_COOKIES; i++) {
		if (queue->cookies[i] == event->cookie) {
			queue->pending->moved_out -= queue->pending->moved_out > 0;
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

static uint32_t events_of(struct inotify_queue *queue, const struct inotify_event *event,
			  bool named)
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
		queue->pending->moved_out++;
	}
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

static void take_event(struct inotify_queue *queue, const struct inotify_event *event)
{
	struct pending_events *pending = queue->pending;
	bool written = event->mask & (IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB);
	uint64_t dir = dir_table_find(&queue->directories, dir_key_of_watch(event->wd));
	struct dir_key key;
	uint32_t length = 0;

	pending->events++;
	pending->written |= written;
	queue->rename_is_split = event->mask & IN_MOVED_FROM;
	if (event->mask & IN_Q_OVERFLOW)
		pending_events_overflow(pending);
	if (!dir) {
		if ((written || event->mask & (IN_CREATE | IN_MOVED_TO)) && event->len > 0)
			pending->set.has_unknown_dir = true;
		return;
	}
	if (event->mask & IN_IGNORED) {
		/* the directory was deleted or its file system unmounted; an earlier event reported
		 * this
		 */
		(void)dir_table_remove(&queue->directories, dir, &key);
		return;
	}
	if (pending->set.overflowed)
		return;
	if (event->len > 0)
		length = (uint32_t)strnlen(event->name, event->len);
	pending_events_add(pending, dir, event->name, length, events_of(queue, event, length > 0));
}

size_t inotify_queue_read(struct inotify_queue *queue, char *buffer)
{
	const struct inotify_event *event;
	size_t at = 0, length;
	ssize_t got = read(queue->fd, buffer, QUEUE_BUFFER_BYTES);

	if (got < 0 && errno != EAGAIN && errno != EINTR)
		pending_events_overflow(queue->pending); /* events are possibly lost */
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

void inotify_queue_read_all(struct inotify_queue *queue, char *buffer)
{
	int waiting = 0;
	size_t left, got;

	if (ioctl(queue->fd, FIONREAD, &waiting) < 0) {
		pending_events_overflow(queue->pending);
		return;
	}
	for (left = (size_t)waiting; left > 0; left -= got < left ? got : left) {
		got = inotify_queue_read(queue, buffer);
		if (got == 0)
			return;
	}
}
