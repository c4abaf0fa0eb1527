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
 *	mounter_unmount() -- a byte -->	unmounts, ends
 *
 * All that it can be told is to mount and to unmount this view. When the daemon is gone without a
 * word, it ends, and leaves the mount as it is, which the next start replaces: what is there
 * without a view may be taken for an empty one. It unmounts only where the user wants that
 * (auto_unmount). One thread.
 */

#include "base/attributes.h"

struct mounter;
struct session_settings;

/* Starts the process. Call it before other threads are started, and before rights are given up. 0
 * or -errno.
 *
 * settings	borrowed for the call */
MUST_CHECK int mounter_start(struct mounter **mounter, const struct session_settings *settings);

/* Has it mount. The descriptor (of /dev/fuse), which the caller closes, or -errno; libfuse has said
 * more of it. */
MUST_CHECK int mounter_mount(struct mounter *mounter);

/* Has it unmount, lazily, and end, and waits for that. The caller closed the device before. What
 * others have mounted there since stays. */
void mounter_unmount(struct mounter *mounter);

/* Ends the process where it still runs, and frees; accepts NULL. */
void mounter_free(struct mounter *mounter);

#endif
