/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_FANOTIFY_GROUP_H
#define VIEW_FOLLOW_FANOTIFY_GROUP_H

/* A fanotify group: a queue of the kernel that reports changes on whole file systems; and its
 * events (fanotify(7) with FAN_REPORT_DFID_NAME_TARGET). Creating a group and marking a file system
 * needs CAP_SYS_ADMIN; reading events needs no right. So a daemon opens its groups before it drops
 * its rights. Any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"

/* A file system that the group reports on. */
struct fanotify_filesystem {
	dev_t device; /* st_dev */
	char id[8]; /* f_fsid of statfs(2), as in events */
	bool has_inodes; /* fanotify_group_inode() knows the handles of this type of file system */
	uint64_t subvolume; /* of btrfs, else 0 */
};

struct fanotify_group {
	int fd; /* -1: not open */
	struct fanotify_filesystem filesystem;
};

/* Opens a group and marks the file system of a directory.
 *
 * fd	the directory, which may be O_PATH
 *
 * Returns 0 or -errno: -EPERM without CAP_SYS_ADMIN, -EINVAL if the kernel is older than 5.17,
 * -EOPNOTSUPP if the file system cannot be watched, -EMFILE if the user has too many groups. After
 * a failure, group->fd is -1. */
MUST_CHECK int fanotify_group_open(struct fanotify_group *group, int fd);

/* Accepts a group that is not open. */
void fanotify_group_close(struct fanotify_group *group);

/* A handle in the form of events. */
struct fanotify_handle_buffer {
	size_t length;
	char bytes[8 + 8 + 128];
};

/* Gets the handle of an open directory, which may be O_PATH. Returns 0, -EXDEV if it is on a file
 * system that the group does not report on, -ENOTDIR, or another -errno. */
MUST_CHECK int fanotify_group_handle(const struct fanotify_group *group, int fd,
				     struct fanotify_handle_buffer *handle);

/* Finds the inode number of a file from its handle, in the form of events. Returns false if the
 * type of the handle is unknown, or if the file is in another subvolume than the directory that was
 * given to fanotify_group_open(). */
bool fanotify_group_inode(const struct fanotify_group *group, const char *handle, size_t length,
			  uint64_t *inode);

/* ---- events ---------------------------------------------------------------------------------- */

/* A file or directory: 8 bytes of the file system's id, then a struct file_handle. */
struct fanotify_handle {
	const char *bytes; /* in the buffer; NULL: the event has none */
	size_t length;
};

/* A name in a directory. */
struct fanotify_place {
	struct fanotify_handle dir;
	const char *name; /* in the buffer, NUL-terminated; "." for the directory itself */
	uint32_t length;
};

struct fanotify_event {
	uint64_t mask; /* FAN_..., or-ed: the kernel merges events */
	struct fanotify_place place; /* of a rename: the old name */
	struct fanotify_place moved_to; /* of a rename only: the new name */
	struct fanotify_handle self; /* the file or directory that has the name */
};

/* Decodes the event at *at and moves *at behind it.
 *
 * event	borrows from the buffer; a part that the kernel did not report has no bytes
 *
 * Returns 1, 0 at the end of the buffer, or -EBADMSG if the bytes are not such an event or lack
 * what changed. */
MUST_CHECK int fanotify_event_next(const char *buffer, size_t length, size_t *at,
				   struct fanotify_event *event);

#endif
