/* SPDX-License-Identifier: MIT */
#include "mount/mounter_order.h"

#include <errno.h>
#include <string.h>

#define TEXTS offsetof(struct mounter_order, nudge.texts)

long mounter_order_for_nudge(struct mounter_order *order, const struct nudge *nudge)
{
	size_t path = strlen(nudge->path) + 1, name = strlen(nudge->name) + 1;

	if (path + name > sizeof(order->nudge.texts))
		return -ENAMETOOLONG;
	memset(order, 0, TEXTS);
	order->word = WORD_NUDGE;
	order->nudge.directory = nudge->directory;
	order->nudge.kind = (uint8_t)nudge->kind;
	order->nudge.folder = nudge->folder;
	memcpy(order->nudge.texts, nudge->path, path);
	memcpy(order->nudge.texts + path, nudge->name, name);
	return (long)(TEXTS + path + name);
}

/* length	of the texts */
static bool nudge_is_whole(const struct mounter_order *order, size_t length)
{
	const char *path = order->nudge.texts;
	const char *name = memchr(path, '\0', length);
	const char *end = path + length;

	return name && memchr(name + 1, '\0', (size_t)(end - name - 1)) == end - 1 &&
	       order->nudge.kind <= NUDGE_CHANGED && order->nudge.directory <= 1;
}

bool mounter_order_is_whole(const struct mounter_order *order, size_t length)
{
	if (length == 0 || length > sizeof(*order))
		return false;
	switch (order->word) {
	case WORD_FIND_WATCHED:
		return length == MOUNTER_ORDER_WATCHERS &&
		       order->watchers.count <= MOUNTER_THREADS_MAX;
	case WORD_NUDGE:
		return length > TEXTS && nudge_is_whole(order, length - TEXTS);
	case WORD_MOUNT:
	case WORD_REST:
	case WORD_UNMOUNT:
		return length == sizeof(order->word);
	default:
		return false;
	}
}

struct nudge mounter_order_nudge(const struct mounter_order *order)
{
	return (struct nudge){
		.kind = (enum nudge_kind)order->nudge.kind,
		.directory = order->nudge.directory,
		.folder = order->nudge.folder,
		.path = order->nudge.texts,
		.name = order->nudge.texts + strlen(order->nudge.texts) + 1,
	};
}
