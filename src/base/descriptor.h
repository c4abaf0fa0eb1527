/* SPDX-License-Identifier: MIT */
#ifndef BASE_DESCRIPTOR_H
#define BASE_DESCRIPTOR_H

/* Opening things below a directory without ever leaving it.
 *
 * A path here is relative, has no "." or ".." component and may be longer than PATH_MAX. No
 * symlink is followed, magic links of /proc included (openat2(2) where the kernel has it,
 * component by component elsewhere). Any thread.
 */

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/attributes.h"

/* Opens path below directory. flags as for open(2); O_CLOEXEC and O_NOFOLLOW are added.
 *
 * path		relative; "" opens the directory itself again
 * cross_mounts	false: a mount point on the way is -EXDEV
 *
 * Returns a descriptor that the caller closes, or -errno: -ELOOP for a symlink on the
 * way. */
MUST_CHECK int open_beneath(int directory, const char *path, int flags, bool cross_mounts);

/* The same for reading, without waiting on a FIFO or device that took the place of what the caller
 * expects (who must fstat it) and, where that is allowed, without touching its atime.
 *
 * flags	0, or O_DIRECTORY
 */
MUST_CHECK int open_beneath_for_reading(int directory, const char *path, int flags,
					bool cross_mounts);

/* The name by which calls that take only paths reach the very inode that a descriptor is of, a
 * symlink itself where it is one: for getxattr(2), chmod(2) and the like on an O_PATH
 * descriptor. */
struct fd_path {
	char text[sizeof("/proc/self/fd/") + 10];
};
struct fd_path fd_path(int fd);

/* Can a file be renamed from one directory to the other? Bind mounts of one file system and
 * subvolumes of one mount refuse it. Before Linux 5.8 it is assumed within a device. */
bool can_rename_between(int a, int b);

/* What was done to names in a directory is on the disk, also of an O_PATH descriptor, with which
 * fsync(2) does nothing. 0 or -errno. */
MUST_CHECK int sync_directory(int directory);

/* Are these of one inode, as far as the numbers tell? */
static inline bool is_same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The two names that each directory lists of itself and of what it is in. */
static inline bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Reads exactly length bytes at offset unless the file ends: the count read, or -errno. */
MUST_CHECK long read_fully_at(int fd, void *buffer, unsigned long length, long offset);

/* Writes all of it; 0 or -errno. */
MUST_CHECK int write_fully(int fd, const void *data, unsigned long length);

#endif
