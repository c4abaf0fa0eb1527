/* SPDX-License-Identifier: MIT */
#include "view/follow/opening_watch.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/array.h"
#include "base/descriptor.h"

#define BUFFER_BYTES 4096

void opening_watch_close(struct opening_watch *watch)
{
	if (watch->fd >= 0)
		close(watch->fd);
	free(watch->numbers);
	*watch = OPENING_WATCH_CLOSED;
}

int opening_watch_add(struct opening_watch *watch, int fd)
{
	int number;
	int r = array_reserve(&watch->numbers, &watch->capacity, watch->count + 1,
			      sizeof(*watch->numbers));

	if (r < 0)
		return r;
	if (watch->fd < 0)
		watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->fd < 0)
		return -errno;
	number = inotify_add_watch(watch->fd, fd_path(fd).text, IN_OPEN | IN_ACCESS);
	if (number < 0)
		return -errno;
	watch->numbers[watch->count++] = number;
	return 0;
}

/* A file that was added twice has one number: the second removal fails. So does that of a file that
 * was deleted. Closing the instance instead would wait for the kernel each time. */
void opening_watch_clear(struct opening_watch *watch)
{
	for (size_t i = 0; i < watch->count; i++)
		(void)inotify_rm_watch(watch->fd, watch->numbers[i]);
	watch->count = 0;
	(void)opening_watch_take(watch);
}

static bool has_opening(const char *buffer, size_t size)
{
	const struct inotify_event *event;

	for (size_t at = 0; at < size; at += sizeof(*event) + event->len) {
		event = (const struct inotify_event *)(const void *)(buffer + at);
		if (event->mask & (IN_OPEN | IN_ACCESS | IN_Q_OVERFLOW))
			return true;
	}
	return false;
}

bool opening_watch_take(struct opening_watch *watch)
{
	_Alignas(struct inotify_event) char buffer[BUFFER_BYTES];
	bool is_opened = false;
	ssize_t got = 0;

	if (watch->fd < 0)
		return false;
	do {
		got = read(watch->fd, buffer, sizeof(buffer));
		if (got > 0)
			is_opened = has_opening(buffer, (size_t)got) || is_opened;
	} while (got > 0 || (got < 0 && errno == EINTR));
	return is_opened || got == 0 || errno != EAGAIN;
}
