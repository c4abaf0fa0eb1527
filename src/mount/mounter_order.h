/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_MOUNTER_ORDER_H
#define MOUNT_MOUNTER_ORDER_H

/* Messages from the daemon to the mounter process (mount/mounter.h): a kind and its arguments. The
 * mounter can have more permissions than the daemon, which can be compromised. So the mounter uses
 * a message only if mounter_order_is_valid accepts it. Pure code, any thread.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mount/mounter.h"
#include "mount/watcher_event.h"

enum {
	ORDER_MOUNT = 'm',
	ORDER_FIND_WATCHED = 'w',
	ORDER_RAISE_EVENT = 'n',
	ORDER_CLOSE_ROUTE = 'r',
	ORDER_UNMOUNT = 'u',
};

struct mounter_order {
	char kind;
	union {
		struct mounter_watchers watchers;
		struct {
			uint8_t directory; /* 0 or 1 */
			uint8_t kind; /* enum watcher_event_kind */
			uint64_t folder;
			char texts[PATH_MAX + NAME_MAX + 1]; /* path and name, each with its NUL */
		} event;
	};
};

/* Builds the order to raise an event. Returns its length in bytes, or -ENAMETOOLONG. */
MUST_CHECK long mounter_order_for_event(struct mounter_order *order,
					const struct watcher_event *event);

/* Length of ORDER_FIND_WATCHED. */
#define MOUNTER_ORDER_FIND_LENGTH \
	(offsetof(struct mounter_order, watchers) + sizeof(struct mounter_watchers))

/* Returns whether a message consists of the arguments of its kind, and nothing else.
 *
 * length	of the message; if it exceeds the size of an order, the rest was truncated
 */
bool mounter_order_is_valid(const struct mounter_order *order, size_t length);

/* Returns the event of a valid order. The strings of the event point into the order. */
struct watcher_event mounter_order_event(const struct mounter_order *order);

#endif
