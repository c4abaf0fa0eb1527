/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_WATCHER_EVENT_H
#define MOUNT_WATCHER_EVENT_H

/* System calls on a mounted view that make the kernel raise inotify events. Invalidations
 * (mount/notifier.h) raise no inotify events, and file managers learn of changes by inotify only.
 *
 * The calls change nothing, because the view already has the change. The daemon replies success to
 * the process that makes these calls, and an error to other processes. Runs in the mounter process
 * (mount/mounter.h). One thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"

enum watcher_event_kind {
	WATCHER_EVENT_CREATED, /* IN_CREATE */
	WATCHER_EVENT_DELETED, /* IN_DELETE */
	WATCHER_EVENT_CHANGED, /* IN_ATTRIB */
};

/* One event. */
struct watcher_event {
	enum watcher_event_kind kind;
	bool directory; /* the name refers to a directory; for CREATED and DELETED */
	uint64_t folder; /* inode number of the folder */
	const char *path; /* path of the folder in the view; "": the root */
	const char *name; /* name in the folder */
};

/* Descriptors for a series of events. While they are open, a view cannot be unmounted without
 * force. */
struct watcher_event_route {
	int root; /* root of the mount, or -1 */
	bool superblock_writable; /* the superblock was made writable */
	int folder; /* folder of the last event, or -1 */
	uint64_t inode; /* inode number of that folder */
};

#define WATCHER_EVENT_ROUTE_NONE         \
	{                                \
		.root = -1, .folder = -1 \
	}

/* Returns whether root can raise events in a view that is mounted read-only. A private clone of the
 * mount is used; the visible mount stays read-only. */
bool watcher_event_is_possible(void);

/* Opens the mount at this mount point. The route must be new or closed. For root, the first call
 * makes the superblock (not the mount) writable. The superblock is not made writable earlier: from
 * then on, the kernel assumes a changed atime and requests attributes again after each read and
 * listing. The superblock stays writable, because each reconfiguration discards all dentries.
 * Returns 0, -ESTALE if the mount has another device number, or another -errno. */
MUST_CHECK int watcher_event_route_open(struct watcher_event_route *route, const char *point,
					dev_t device);
void watcher_event_route_close(struct watcher_event_route *route);

/* Raises an event. Blocks on the daemon. Returns 0, -ESTALE if the path leads to another folder, or
 * another -errno. -EEXIST and -ENOENT mean that the kernel had a cached dentry and did not ask the
 * daemon. */
MUST_CHECK int watcher_event_raise(struct watcher_event_route *route,
				   const struct watcher_event *event);

#endif
