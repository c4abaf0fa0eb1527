/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_WATCHER_REPLY_H
#define MOUNT_WATCHER_REPLY_H

/* How requests are answered by which the process that mounts makes a change (mount/watcher_event.h): the
 * name is there before it went, and is not before it came, though the view has it otherwise by then.
 * The kernel keeps none of these answers, and others get none of them. Nor does it keep what others
 * are told of the name meanwhile: it would make the change to what that is, and a folder that came
 * back would be dead to all who use it. One change at a time; any thread. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "mount/fuse.h"

/* All borrowed until watcher_reply_end. */
struct watcher_reply {
	uint64_t folder; /* node; 0: nothing is pretended */
	const char *name;
	bool there; /* the name is, before the change */
	bool directory; /* it is of one */
	/* Of a folder that is gone, for whoever still watches it: where it was. 0: it is there. */
	uint64_t above;
	const char *folder_name;
};

struct watcher_replies {
	pthread_mutex_t lock;
	struct watcher_reply now;
	_Atomic uint64_t folder; /* that of now, to be looked at without the lock */
	uint64_t stand_in; /* the node that stands for what the name was or is to become */
};

MUST_CHECK int watcher_replies_init(struct watcher_replies *replies);
void watcher_replies_deinit(struct watcher_replies *replies);

void watcher_reply_begin(struct watcher_replies *replies, struct watcher_reply reply);
void watcher_reply_end(struct watcher_replies *replies);

/* Is it the name that is pretended to change? Before such a change the kernel is told to drop the
 * name, which waits for all answers that it was given until then. */
MUST_CHECK bool watcher_reply_is_of(struct watcher_replies *replies, uint64_t folder,
				    const char *name);

/* Each false: it is no request of the change, and to be answered as anybody's. */

/* A name is looked up: entry is the answer; with ino 0 there is none. */
MUST_CHECK bool watcher_reply_lookup(struct watcher_replies *replies, uint64_t folder,
				     const char *name, struct fuse_entry_param *entry);

/* The attributes of the folder, where that is gone. */
MUST_CHECK bool watcher_reply_getattr(struct watcher_replies *replies, uint64_t node,
				      struct stat *attributes);

/* A name is made, or removed: entry, where it is not NULL, is what was made. */
MUST_CHECK bool watcher_reply_change(struct watcher_replies *replies, uint64_t folder,
				     const char *name, bool there, struct fuse_entry_param *entry);

#endif
