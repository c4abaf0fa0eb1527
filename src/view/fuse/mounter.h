/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_MOUNTER_H
#define VIEW_FUSE_MOUNTER_H

/* A separate process that mounts and unmounts the view. The daemon parses untrusted data from the
 * sources. With this process, the daemon can drop its permission to mount.
 *
 *	daemon				mounter, with the permissions of the user
 *	mounter_start() ---- fork ---->	waits
 *	mounter_mount() ---- order --->	mounts by libfuse: as root, or by fusermount3
 *			<- descriptor -	closes its own copy
 *	mounter_find_watched() ------->	finds watched nodes of the view in /proc
 *			<--- nodes ----
 *	mounter_raise_event() -------->	raises an inotify event (view/fuse/watcher_event.h)
 *			<--- result ---
 *	mounter_close_route() -------->	closes its descriptors for events
 *	mounter_unmount() -- order --->	unmounts, exits
 *
 * The mounter accepts no other orders, and orders only for this view. If the daemon dies without an
 * order, the mounter exits. Before that, the mounter unmounts the view if auto_unmount is set.
 * Without auto_unmount, the mount stays until the next start replaces it: an unmounted view would
 * look like an empty directory. One thread, except where noted.
 */

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "view/fuse/mount.h"
#include "view/fuse/watcher_event.h"

struct mounter;
struct watcher_event;
struct session_settings;

/* Starts the process. Call it before other threads are started and before permissions are dropped.
 * Returns 0 or -errno.
 *
 * settings	borrowed for the call */
MUST_CHECK int mounter_start(struct mounter **mounter, const struct session_settings *settings);

/* Orders the mount. Returns the descriptor of /dev/fuse, which the caller closes, or -errno;
 * libfuse has logged details. Returns -ECANCELED on stop_requested(). After a failure, a mount that
 * completes later is unmounted. */
MUST_CHECK int mounter_mount(struct mounter *mounter);

/* Returns the id of the process. Requests from this process are caused by mounter_raise_event. */
pid_t mounter_process(const struct mounter *mounter);

/* Returns the kind of the mount. */
enum session_access mounter_access(const struct mounter *mounter);

/* The following three functions belong to one thread, and must not run at the same time as
 * mounter_unmount. The first two wait for the process, which can wait for replies of the view. When
 * *stopping becomes true, they return -ECANCELED, and none of the three may be called any more. */

/* Appends the nodes (uint64_t) of the view that have inotify watches: folders, without their depth,
 * and versions of files. Duplicates are possible. Searches all processes, or those of the given
 * threads and of earlier calls (mounter.c). If the process has no memory for all of them, some are
 * missing. Returns 0 or -errno. */
#define MOUNTER_THREADS_MAX 16
struct mounter_watchers {
	/* whether to search all processes; no bool, as the received byte can have any value */
	uint8_t all_processes;
	size_t count;
	pid_t threads[MOUNTER_THREADS_MAX];
};
MUST_CHECK int mounter_find_watched(struct mounter *mounter,
				    const struct mounter_watchers *watchers, struct bytes *nodes,
				    const atomic_bool *stopping);

/* Raises an inotify event in the view. Returns 0, -errno of watcher_event_route_open or
 * watcher_event_raise, -EOPNOTSUPP if the superblock is permanently read-only, -ENAMETOOLONG, or
 * another -errno if the process has ended. The process keeps descriptors open until
 * mounter_close_route. */
MUST_CHECK int mounter_raise_event(struct mounter *mounter, const struct watcher_event *event,
				   const atomic_bool *stopping);

/* Closes the descriptors of mounter_raise_event. Does not wait for the process. */
void mounter_close_route(struct mounter *mounter);

/* Orders a lazy unmount and waits for the end of the process. If the process does not end within
 * five seconds, it is killed, as far as permitted. The caller must have closed the device. Another
 * mount on the same mount point is not unmounted. Returns 0, or -errno if the process had ended
 * before, failed, or did not end in time. After a failure, the mount can still exist, and accesses
 * to it fail. */
MUST_CHECK int mounter_unmount(struct mounter *mounter);

/* Ends the process, unless mounter_unmount did, and waits for it as mounter_unmount does. Frees the
 * mounter. Accepts NULL. */
void mounter_free(struct mounter *mounter);

/* ---- orders -------------------------------------------------------------------------- */

/* Messages from the daemon to the mounter process: a kind and its arguments. The
 * mounter can have more permissions than the daemon, which can be compromised. So the mounter uses
 * a message only if mounter_order_is_valid accepts it. Pure code, any thread.
 */

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
			uint64_t to_folder;
			/* path and name, of MOVED twice, each with its NUL */
			char texts[2 * (PATH_MAX + NAME_MAX + 1)];
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
