/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_WATCHER_REPLY_H
#define MOUNT_WATCHER_REPLY_H

/* Replies to the requests by which the mounter process raises an event (mount/watcher_event.h). The
 * replies simulate the change, although the view has the new state already. In the replies, a
 * deleted name exists until the unlink, and a created name is missing until the mknod.
 *
 * The mounter alone gets these replies, and they have no timeout. Replies to other processes about
 * the same name have no entry timeout meanwhile. With a timeout, the kernel would apply the change
 * to the real dentry. A folder that reappears would then be dead (S_DEAD) for the programs in it.
 * One event at a time. Any thread. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "mount/fuse.h"

/* A simulated change. All borrowed until watcher_reply_end. */
struct watcher_reply {
	uint64_t folder; /* node, or 0 if no change is simulated */
	const char *name;
	bool exists; /* the name exists before the change */
	bool directory; /* the name refers to a directory */
	/* If the folder itself was removed but is still watched: its last parent, else 0. */
	uint64_t parent;
	const char *folder_name;
};

struct watcher_replies {
	pthread_mutex_t lock;
	struct watcher_reply now;
	_Atomic uint64_t folder; /* copy of now.folder, readable without the lock */
	uint64_t placeholder; /* node of the name before or after the change */
};

void watcher_replies_init(struct watcher_replies *replies);
void watcher_replies_deinit(struct watcher_replies *replies);

void watcher_reply_begin(struct watcher_replies *replies, struct watcher_reply reply);
void watcher_reply_end(struct watcher_replies *replies);

/* Returns whether the change of this name is being simulated. Between watcher_reply_begin and the
 * change, the watcher thread invalidates the dentry. The invalidation waits for earlier requests
 * about the name, so they need no check. */
MUST_CHECK bool watcher_reply_is_changing(struct watcher_replies *replies, uint64_t folder,
					  const char *name);

/* Each of the following functions returns false if the request does not belong to the change and
 * needs a normal reply. */

/* A lookup: fills in entry, with ino 0 if the name does not exist. */
MUST_CHECK bool watcher_reply_lookup(struct watcher_replies *replies, uint64_t folder,
				     const char *name, struct fuse_entry_param *entry);

/* A getattr of the folder, if it was removed. */
MUST_CHECK bool watcher_reply_getattr(struct watcher_replies *replies, uint64_t node,
				      struct stat *attributes);

/* A request that creates (exists) or removes a name: fills in entry (unless NULL) with the created
 * node. */
MUST_CHECK bool watcher_reply_change(struct watcher_replies *replies, uint64_t folder,
				     const char *name, bool exists, struct fuse_entry_param *entry);

#endif
