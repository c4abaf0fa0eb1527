/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_MOUNTER_H
#define MOUNT_MOUNTER_H

/* A process of its own that mounts the view, and unmounts it at the end: so the daemon, which reads
 * what anybody may have put into a source, can give up all that is needed for it.
 *
 *	daemon				mounter, which has the rights of the user
 *	mounter_start() ---- fork ---->	waits
 *	mounter_mount() ---- a byte -->	mounts, as libfuse does: as root, or by fusermount3
 *			<- descriptor -	keeps nothing of it open
 *	mounter_find_watched() ------->	looks who watches folders of the view
 *			<--- inodes ---
 *	mounter_raise_event() ------------->	has these hear of a change (mount/watcher_event.h)
 *			<--- result ---
 *	mounter_unmount() -- a byte -->	unmounts, ends
 *
 * All that it can be told is to do this with this view. When the daemon is gone without a
 * word, it ends, and leaves the mount as it is, which the next start replaces: what is there
 * without a view may be taken for an empty one. It unmounts only where the user wants that
 * (auto_unmount). One thread.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "mount/session_access.h"

struct mounter;
struct watcher_event;
struct session_settings;

/* Starts the process. Call it before other threads are started, and before rights are given up. 0
 * or -errno.
 *
 * settings	borrowed for the call */
MUST_CHECK int mounter_start(struct mounter **mounter, const struct session_settings *settings);

/* Has it mount. The descriptor (of /dev/fuse), which the caller closes, or -errno; libfuse has said
 * more of it. -ECANCELED when stop_requested(): what it still mounts it unmounts. */
MUST_CHECK int mounter_mount(struct mounter *mounter);

/* The process itself: who asks the view as this one asks for mounter_raise_event. */
pid_t mounter_process(const struct mounter *mounter);

/* How it mounts. */
enum session_access mounter_access(const struct mounter *mounter);

/* The following are for one thread other than that of mounter_unmount, and wait for the process,
 * which may wait for answers of the view: they give up with -ECANCELED when *stopping becomes true,
 * and must not be called any more. */

/* Which inodes of the view are watched by inotify, some perhaps more than once: by anybody, or by the
 * processes of these threads and of those that were given before (mount/watcher_processes.h). How many, or
 * -errno. */
#define MOUNTER_WATCHED_MAX 1024
#define MOUNTER_THREADS_MAX 16
struct mounter_watchers {
	uint8_t anybody; /* not 0: yes; a bool that others may fill would have to be 0 or 1 */
	size_t count;
	pid_t threads[MOUNTER_THREADS_MAX];
};
MUST_CHECK long mounter_find_watched(struct mounter *mounter,
				     const struct mounter_watchers *watchers,
				     uint64_t inodes[static MOUNTER_WATCHED_MAX],
				     const atomic_bool *stopping);

/* Makes a change in the view. 0, -errno of the change, -EOPNOTSUPP where the view is read-only for
 * good, or -ENAMETOOLONG. What is kept open for it is closed by mounter_rest. */
MUST_CHECK int mounter_raise_event(struct mounter *mounter, const struct watcher_event *event,
				   const atomic_bool *stopping);

/* No more changes for now. */
void mounter_rest(struct mounter *mounter);

/* Has it unmount, lazily, and end, and waits for that, but not much longer than five seconds: one
 * that stands still is killed. The caller closed the device before. What others have mounted there
 * since stays. 0, or -errno where the process was gone or killed: the mount may still be there,
 * and whoever looks at it gets an error. */
MUST_CHECK int mounter_unmount(struct mounter *mounter);

/* Ends the process where it still runs, in the same time, and frees; accepts NULL. */
void mounter_free(struct mounter *mounter);

#endif
