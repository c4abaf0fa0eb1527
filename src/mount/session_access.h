/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_SESSION_ACCESS_H
#define MOUNT_SESSION_ACCESS_H

/* How writes to a view are refused, besides the EROFS of every request that changes something. The
 * second and the third kind allow watcher events (mount/watcher_event.h). */
enum session_access {
	SESSION_READ_ONLY, /* the superblock is read-only */
	/* Mounts of root. The visible mount is always read-only. The superblock is read-only until
	 * the first watcher event. */
	SESSION_READ_ONLY_MOUNT,
	/* Mounts of a plain user. The superblock is writable. The daemon refuses changes and checks
	 * permissions. */
	SESSION_REFUSING,
};

#endif
