/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_WATCHER_EVENT_H
#define MOUNT_WATCHER_EVENT_H

/* Changes made to a mounted view by system calls, so that the kernel raises inotify events for
 * them: what the daemon tells it (mount/notifier.h) raises none, and who shows a folder, as file
 * managers do, learns of changes by nothing else.
 *
 * Nobody can change a view. The daemon says that these calls were done, to the process that makes
 * them and to no other, and by then the change is in the view. For the process that mounts
 * (mount/mounter.h). One thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"

enum watcher_event_kind {
	WATCHER_EVENT_CREATED, /* a name: IN_CREATE */
	WATCHER_EVENT_DELETED, /* IN_DELETE */
	WATCHER_EVENT_CHANGED, /* what it stands for has other attributes: IN_ATTRIB */
};

/* One change. */
struct watcher_event {
	enum watcher_event_kind kind;
	bool directory; /* the name is of one: of events that came and went */
	uint64_t folder; /* its inode number */
	const char *path; /* of the folder, in the view; "": the root */
	const char *name; /* in it */
};

/* The way to a view for a burst of changes. While it is open, who unmounts may find it busy. */
struct watcher_event_route {
	int root;
	bool opened; /* the file system is not read-only any more */
	int folder; /* that of the last change, -1 */
	uint64_t inode;
};

#define WATCHER_EVENT_WAY_NONE           \
	{                                \
		.root = -1, .folder = -1 \
	}

/* Can a view that is mounted read-only be nudged, by root? He can have a mount of his own beside
 * the one that is seen, which stays read-only. */
bool watcher_event_is_possible(void);

/* Opens a way to what is mounted there if it is of that device; the way is empty or was closed. The
 * first time, as root, makes the file system, not the mount, one that is not read-only. Not sooner,
 * as then the kernel asks for attributes again after each read and listing (it takes the time of
 * access for moved); and for good, as each such change has it forget all names. 0 or -errno. */
MUST_CHECK int watcher_event_route_open(struct watcher_event_route *way, const char *point,
					dev_t device);
void watcher_event_route_close(struct watcher_event_route *way);

/* Makes a change. 0, or -errno: -EEXIST and -ENOENT where the kernel did not ask the daemon, as
 * somebody came before. Blocks on the daemon. */
MUST_CHECK int watcher_event_raise(struct watcher_event_route *way,
				   const struct watcher_event *event);

#endif
