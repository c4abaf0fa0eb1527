/* SPDX-License-Identifier: MIT */
#ifndef INDEX_MOUNT_OPTIONS_H
#define INDEX_MOUNT_OPTIONS_H

/* The classification of mount -o items. Pure code, any thread. */

enum mount_option_kind {
	MOUNT_OPTION_FUSE, /* passed to FUSE by session_new() */
	MOUNT_OPTION_IGNORED, /* generic words of fstab, and options without effect (ro, rw) */
	MOUNT_OPTION_NONEMPTY, /* for mount_point_prepare() */
	MOUNT_OPTION_PASSTHROUGH, /* a setting of the daemon, as are the next four */
	MOUNT_OPTION_TRUSTED_XATTRS,
	MOUNT_OPTION_IO_URING,
	MOUNT_OPTION_SHARED,
	MOUNT_OPTION_AUTO_UNMOUNT,
	MOUNT_OPTION_REFUSED, /* known, but incompatible with a view */
	MOUNT_OPTION_UNKNOWN,
};

/* Classifies one item ("name" or "name=value"). For MOUNT_OPTION_REFUSED, *reason is set to a
 * static message for the user. Options of twinfs itself are unknown here, so the caller must check
 * for them first. */
enum mount_option_kind mount_option_classify(const char *item, const char **reason);

#endif
