/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_MOUNTER_ORDER_H
#define MOUNT_MOUNTER_ORDER_H

/* What the daemon says to the process that mounts (mount/mounter.h), in one message: a word, and what
 * that one takes. Who hears it may have more rights than who says it, who by then may be anybody:
 * so nothing of it is believed before mounter_order_is_whole. Pure; any thread.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mount/mounter.h"
#include "mount/watcher_event.h"

enum {
	WORD_MOUNT = 'm',
	WORD_FIND_WATCHED = 'w',
	WORD_NUDGE = 'n',
	WORD_REST = 'r',
	WORD_UNMOUNT = 'u',
};

struct mounter_order {
	char word;
	union {
		struct mounter_watchers watchers;
		struct {
			uint8_t directory; /* 0 or 1 */
			uint8_t kind; /* enum watcher_event_kind */
			uint64_t folder;
			char texts[PATH_MAX + NAME_MAX + 1]; /* a path and a name, each with NUL */
		} event;
	};
};

/* Makes the one for a nudge. Its length in bytes, or -ENAMETOOLONG. */
MUST_CHECK long mounter_order_for_event(struct mounter_order *order,
					const struct watcher_event *event);

/* The length of one that finds watchers. */
#define MOUNTER_ORDER_WATCHERS \
	(offsetof(struct mounter_order, watchers) + sizeof(struct mounter_watchers))

/* Has a message all that its word takes, and nothing else?
 *
 * length	of the message, which may be longer than an order: the rest of it was dropped
 */
bool mounter_order_is_whole(const struct mounter_order *order, size_t length);

/* The nudge that a whole one asks for, which points into it. */
struct watcher_event mounter_order_event(const struct mounter_order *order);

#endif
