/* SPDX-License-Identifier: MIT */
#include "mount/mounter_order.h"

#include <errno.h>
#include <string.h>

#define TEXTS offsetof(struct mounter_order, event.texts)

long mounter_order_for_event(struct mounter_order *order, const struct watcher_event *event)
{
	size_t path = strlen(event->path) + 1, name = strlen(event->name) + 1;

	if (path + name > sizeof(order->event.texts))
		return -ENAMETOOLONG;
	memset(order, 0, TEXTS);
	order->kind = ORDER_RAISE_EVENT;
	order->event.directory = event->directory;
	order->event.kind = (uint8_t)event->kind;
	order->event.folder = event->folder;
	memcpy(order->event.texts, event->path, path);
	memcpy(order->event.texts + path, event->name, name);
	return (long)(TEXTS + path + name);
}

/* length	of the texts */
static bool watcher_event_is_whole(const struct mounter_order *order, size_t length)
{
	const char *path = order->event.texts;
	const char *name = memchr(path, '\0', length);
	const char *end = path + length;

	return name && memchr(name + 1, '\0', (size_t)(end - name - 1)) == end - 1 &&
	       order->event.kind <= WATCHER_EVENT_CHANGED && order->event.directory <= 1;
}

bool mounter_order_is_valid(const struct mounter_order *order, size_t length)
{
	if (length == 0 || length > sizeof(*order))
		return false;
	switch (order->kind) {
	case ORDER_FIND_WATCHED:
		return length == MOUNTER_ORDER_FIND_LENGTH &&
		       order->watchers.count <= MOUNTER_THREADS_MAX;
	case ORDER_RAISE_EVENT:
		return length > TEXTS && watcher_event_is_whole(order, length - TEXTS);
	case ORDER_MOUNT:
	case ORDER_CLOSE_ROUTE:
	case ORDER_UNMOUNT:
		return length == sizeof(order->kind);
	default:
		return false;
	}
}

struct watcher_event mounter_order_event(const struct mounter_order *order)
{
	return (struct watcher_event){
		.kind = (enum watcher_event_kind)order->event.kind,
		.directory = order->event.directory,
		.folder = order->event.folder,
		.path = order->event.texts,
		.name = order->event.texts + strlen(order->event.texts) + 1,
	};
}
