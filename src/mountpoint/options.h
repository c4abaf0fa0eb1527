/* SPDX-License-Identifier: MIT */
#ifndef MOUNTPOINT_OPTIONS_H
#define MOUNTPOINT_OPTIONS_H

/* The words of mount -o: which of them are for whom. Pure code, any thread. */

enum mount_option_kind {
	MOUNT_OPTION_FUSE, /* give it to session_new */
	MOUNT_OPTION_IGNORED, /* generic words of fstab, and what a view is in any case (ro, rw) */
	MOUNT_OPTION_NONEMPTY, /* for mount_point_prepare */
	MOUNT_OPTION_PASSTHROUGH, /* for session_settings; the same */
	MOUNT_OPTION_TRUSTED_XATTRS, /* for the daemon; the same */
	MOUNT_OPTION_IO_URING,
	MOUNT_OPTION_SHARED,
	MOUNT_OPTION_AUTO_UNMOUNT,
	MOUNT_OPTION_REFUSED, /* known, but it would break what a view promises */
	MOUNT_OPTION_UNKNOWN,
};

/* What to do with one item ("name" or "name=value"). *reason, for MOUNT_OPTION_REFUSED: why, for
 * the user; lives for ever. Options of twinfs itself are unknown here: ask for those first. */
enum mount_option_kind mount_option_classify(const char *item, const char **reason);

#endif
