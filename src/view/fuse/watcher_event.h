/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_WATCHER_EVENT_H
#define VIEW_FUSE_WATCHER_EVENT_H

/* System calls on a mounted view that make the kernel raise inotify events. Invalidations
 * (view/fuse/notifier.h) raise no inotify events, and file managers learn of changes by inotify
 * only.
 *
 * The calls change nothing, because the view already has the change. The daemon replies success to
 * the process that makes these calls, and an error to other processes. The calls are made by the
 * mounter process (view/fuse/mounter.h), in one thread.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "view/fuse/fuse.h"

enum watcher_event_kind {
	WATCHER_EVENT_CREATED, /* IN_CREATE */
	WATCHER_EVENT_DELETED, /* IN_DELETE */
	WATCHER_EVENT_CHANGED, /* IN_ATTRIB */
	/* IN_MOVED_FROM and IN_MOVED_TO with one cookie, and IN_MOVE_SELF of the node */
	WATCHER_EVENT_MOVED,
	WATCHER_EVENT_ENDED, /* IN_DELETE_SELF and IN_IGNORED of the node at path; no name */
};

/* One event. */
struct watcher_event {
	enum watcher_event_kind kind;
	bool directory; /* the name refers to a directory; for CREATED and DELETED */
	uint64_t folder; /* inode number of the folder */
	const char *path; /* path of the folder in the view; "": the root */
	const char *name; /* name in the folder */
	/* the same of the new name; for MOVED */
	uint64_t to_folder;
	const char *to_path, *to_name;
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

/* ---- replies of the daemon ---------------------------------------------------------- */

/* Replies to the requests by which the mounter process raises an event. The replies simulate the
 * change, although the view has the new state already. In the replies, a deleted name exists until
 * the unlink, and a created name is missing until the mknod.
 *
 * The mounter alone gets these replies, and they have no timeout. Replies to other processes about
 * the same name have no entry timeout meanwhile. With a timeout, the kernel would apply the change
 * to the real dentry. A folder that reappears would then be dead (S_DEAD) for the programs in it.
 * One event at a time. Any thread. */

/* A simulated change. All borrowed until watcher_reply_end.
 *
 * A node that is gone is simulated with no links. The kernel therefore ends the watches on its
 * inode when the last dentry of the inode is freed. Unlike after rmdir(2), the inode can be used
 * again if the node comes back. If a removed file is gone, the mounter unlinks the inode of the
 * file, which ends its watches.
 */
struct watcher_reply {
	uint64_t folder; /* node, or 0 if no change is simulated */
	const struct listed_name *name; /* name in the folder; its node is 0 unless it is gone */
	bool exists; /* the name exists before the change */
	/* If the folder itself, or another node with this number, is gone: the parent and name by
	 * which the mounter finds it; else 0. */
	uint64_t parent;
	const char *gone_name;
	mode_t gone_mode;
	off_t gone_size;
	uint32_t gone_generation; /* of the inode */
	/* If the name moves: where to. The name refers to its real node then, as rename(2) leaves
	 * the inode usable. */
	uint64_t to_folder;
	const char *to_name;
};

struct watcher_replies {
	pthread_mutex_t lock;
	struct watcher_reply now;
	/* copies of now.folder and now.to_folder, readable without the lock */
	_Atomic uint64_t folder, to_folder;
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

/* A getattr of the node that is gone. */
MUST_CHECK bool watcher_reply_getattr(struct watcher_replies *replies, uint64_t node,
				      struct stat *attributes);

/* A request that creates (exists) or removes a name: fills in entry (unless NULL) with the created
 * node. */
MUST_CHECK bool watcher_reply_change(struct watcher_replies *replies, uint64_t folder,
				     const char *name, bool exists, struct fuse_entry_param *entry);

/* A request that moves a name. */
MUST_CHECK bool watcher_reply_move(struct watcher_replies *replies, uint64_t folder,
				   const char *name, uint64_t to_folder, const char *to_name);

/* ---- names of a folder -------------------------------------------------------------- */

/* The names of a folder at one time, and the differences between two times. Pure code, any thread.
 */

struct listed_name {
	const char *text; /* name, in the list's arena */
	uint64_t node; /* or 0 if unknown, or if the kernel needs a generation for it */
	off_t size;
	mode_t mode;
	bool directory;
	/* digest of the attributes whose change raises an event; 0 for a directory */
	uint64_t digest;
};

/* All zero: empty. */
struct watcher_names {
	struct listed_name *names;
	size_t count, capacity;
	struct arena memory;
};

void watcher_names_free(struct watcher_names *list);

/* Adds a copy of a name. Returns 0 or -ENOMEM. */
MUST_CHECK int watcher_names_add(struct watcher_names *list, struct listed_name name);

/* Copies all names to an empty list. Returns 0, or -ENOMEM and leaves it empty. */
MUST_CHECK int watcher_names_copy(struct watcher_names *list, const struct watcher_names *from);

/* Sorts the list. Must be called before the list is searched or compared. */
void watcher_names_sort(struct watcher_names *list);

/* Returns the name, or NULL. */
const struct listed_name *watcher_names_find(const struct watcher_names *list, const char *text);

/* A name that was created, deleted or changed. */
struct watched_difference {
	enum watcher_event_kind kind;
	bool replaced; /* the name was deleted and created: refers to another folder or type */
	const struct listed_name *name; /* before a deletion, else now */
	const struct listed_name *before; /* of a changed name */
};

/* Calls each for every change from before to now, sorted by name, until it returns another result
 * than 0. Returns this result, or 0. */
typedef int watcher_names_differ_fn(void *context, const struct watched_difference *change);
MUST_CHECK int watcher_names_differ(const struct watcher_names *before,
				    const struct watcher_names *now, watcher_names_differ_fn *each,
				    void *context);

/* Changes a list that has these differences already so that it lacks them again: a created name is
 * removed, a deleted one is added unless a new one has replaced it, and a changed one gets another
 * digest. Returns 0, or -ENOMEM if the list still has some of them. */
MUST_CHECK int watcher_names_revert(struct watcher_names *list,
				    const struct watched_difference *changes, size_t count);

/* Changes a list so that these names differ from now: names that exist in now are removed from the
 * list, unless they differ already. Other names are added without a digest. Returns 0, or -errno
 * and leaves the list unchanged. */
MUST_CHECK int watcher_names_mark_changed(struct watcher_names *list,
					  const struct watcher_names *now,
					  const struct listed_name *names, size_t count);

#endif
