/* SPDX-License-Identifier: MIT */
#ifndef BASE_DESCRIPTOR_H
#define BASE_DESCRIPTOR_H

/* Opens files below a directory without ever leaving the directory, reads and writes open files,
 * and lists directories.
 *
 * A path here is relative, has no "." or ".." component and can be longer than PATH_MAX. No symlink
 * is followed, including the magic links of /proc. Uses openat2(2) if the kernel has it, and
 * otherwise opens one component after the other. Any thread.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/attributes.h"

/* Returns how many descriptors the process may have open; UINT64_MAX: any number. */
uint64_t descriptors_max(void);

/* Opens path below directory. flags are those of open(2); O_CLOEXEC and O_NOFOLLOW are added.
 *
 * path		relative; "" opens the directory itself again
 * cross_mounts	false: a mount point in the path is -EXDEV
 *
 * Returns a descriptor that the caller closes, or -errno; -ELOOP for a symlink in the path. With
 * O_DIRECTORY, a symlink as the last component is -ENOTDIR. With O_PATH alone, it is opened itself.
 */
MUST_CHECK int open_beneath(int directory, const char *path, int flags, bool cross_mounts);

/* Opens path below directory for reading. Does not block on a FIFO or device that replaced the
 * expected file; the caller must check the type with fstat(2). Does not change the atime if the
 * user may prevent that.
 *
 * flags	0, or O_DIRECTORY
 */
MUST_CHECK int open_beneath_for_reading(int directory, const char *path, int flags,
					bool cross_mounts);

/* Opens what a name in a directory leads to, with O_PATH. Follows symlinks, but no magic links of
 * /proc. Opens no FIFO or device, and mounts nothing. Returns a descriptor or -errno. */
MUST_CHECK int open_followed(int directory, const char *name);

/* A path in /proc that leads to the inode of a descriptor, even if the inode is a symlink. Calls
 * that take only paths, like getxattr(2) and chmod(2), can use it for an O_PATH descriptor. */
struct fd_path {
	char text[sizeof("/proc/self/fd/") + 10];
};
struct fd_path fd_path(int fd);

/* Returns whether a file can be renamed from one directory to the other. The kernel refuses to
 * rename between bind mounts of one file system, and between subvolumes of one mount. Before Linux
 * 5.8, a rename within a device is assumed to be possible. */
bool can_rename_between(int a, int b);

/* Replaces the descriptor of a directory by one of its parent directory, O_PATH. Returns 1, 0 if
 * the directory is the root of the process and thus its own parent, or -errno. */
MUST_CHECK int ascend(int *directory);

/* Sets *within to whether an open directory is a certain one or below it. Ascends to the root by
 * descriptors. Returns 0 or -errno. */
MUST_CHECK int find_within(int directory, const struct stat *above, bool *within);

/* Reads the target of a symlink; the name "" is that of an O_PATH descriptor. Returns 0,
 * -ENAMETOOLONG, or another -errno. */
MUST_CHECK int read_link(int directory, const char *name, char target[static PATH_MAX]);

/* Flushes changes of names in a directory to the disk. Also accepts an O_PATH descriptor, which
 * fsync(2) does not. Returns 0 or -errno. */
MUST_CHECK int sync_directory(int directory);

/* Returns whether both are the same inode, by device and inode number. */
static inline bool is_same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Returns whether a name in a directory exists and is a symlink. */
bool is_symlink(int directory, const char *name);

/* Returns whether a name exists in a directory, also as a dangling symlink. If not, errno has the
 * reason. */
bool name_exists(int directory, const char *name);

/* Returns whether the name is "." or "..". */
static inline bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Reads length bytes at offset, or fewer at the end of the file. Returns the number of bytes read,
 * or -errno.
 */
MUST_CHECK ssize_t read_fully_at(int fd, void *buffer, size_t length, off_t offset);

/* A range of bytes of a file. */
struct data_range {
	off_t from, to;
};

/* Returns the next range with data, from `at` on. It ends at the next hole, or at `end`. If only a
 * hole follows, the range is empty and at `end`. If holes cannot be found, all bytes are data.
 * Moves the position of the descriptor. */
struct data_range data_range_at(int fd, off_t at, off_t end);

/* Writes all bytes. Returns 0 or -errno. */
MUST_CHECK int write_fully(int fd, const void *data, unsigned long length);

/* The functions below read the names in a directory given by a descriptor, which may be O_PATH.
 * Except by directory_read(), the position of the descriptor is neither used nor changed, and an
 * atime is not changed if the user may prevent that. */

/* Receives an entry, and a descriptor of its directory that is open for reading. A result other
 * than 0 ends the visit. */
typedef int directory_visitor(void *context, int directory, const struct dirent *entry);

/* Visits each entry except "." and "..". Opens the directory again, so it must be searchable.
 * Returns 0, the visitor's result, or -errno. */
MUST_CHECK int directory_visit(int directory, directory_visitor *visitor, void *context);

/* Visits each entry except "." and "..", from the position of the descriptor on. The directory need
 * not be searchable. Returns as directory_visit().
 *
 * fd	open for reading, closed in any case; or an -errno, which is returned
 */
MUST_CHECK int directory_read(int fd, directory_visitor *visitor, void *context);

/* Returns 0 if the directory is empty, -ENOTEMPTY, or another -errno.
 *
 * ignored	a name that the directory may have; NULL: none */
MUST_CHECK int directory_check_empty(int directory, const char *ignored);

/* Removes all files of a directory. Returns 0 or -errno; -EISDIR for a subdirectory. */
MUST_CHECK int directory_remove_files(int directory);

#endif
