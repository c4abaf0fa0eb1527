/* SPDX-License-Identifier: MIT */
#ifndef MOUNTPOINT_TABLE_H
#define MOUNTPOINT_TABLE_H

/* The mounts of this process's namespace, as /proc/self/mountinfo has them (proc(5)). */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct mount_entry {
	char *point; /* absolute */
	char *type; /* "ext4", "fuse.twinfs" */
	char *device; /* "8:1", of the whole file system: st_dev of a btrfs subvolume is another one */
	char *root; /* which folder of the file system is mounted, from its top */
};

struct mount_table {
	struct mount_entry *entries; /* in the order of mounting */
	size_t count, capacity;
};

void mount_table_free(struct mount_table *table);
#define CLEANUP_TABLE CLEANUP(mount_table_free)

/* Reads the table of this process; -errno. Asks no file system anything. */
MUST_CHECK int mount_table_read(struct mount_table *table);

/* The same from a file like /proc/PID/mountinfo: the table of another process. */
MUST_CHECK int mount_table_read_from(struct mount_table *table, const char *name);

/* Adds what a line says, octal escapes decoded. 0, -EPROTO for a line that is none, -ENOMEM.
 * The line is taken apart. */
MUST_CHECK int mount_table_add_line(struct mount_table *table, char *line);

/* The mount that an absolute path without symlinks lies in: the deepest, of several on one point
 * the last. NULL: none. Borrowed from the table. */
const struct mount_entry *mount_table_covering(const struct mount_table *table, const char *path);

/* A mount of the view that is this device ("0:53"), at any point. NULL: none. Borrowed. */
const struct mount_entry *mount_table_view_of(const struct mount_table *table, const char *device);

/* Appends where a path lies in its file system, from the top of that. Two paths of one device lie in
 * each other if these do, whatever is mounted where (mount --bind).
 *
 * path		absolute, without symlinks
 * entry	the mount that covers it
 *
 * 0 or -ENOMEM. */
MUST_CHECK int mount_entry_locate(const struct mount_entry *entry, const char *path,
				  struct bytes *inside);

bool mount_entry_is_view(const struct mount_entry *entry);

#endif
