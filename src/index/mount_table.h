/* SPDX-License-Identifier: MIT */
#ifndef INDEX_MOUNT_TABLE_H
#define INDEX_MOUNT_TABLE_H

/* The mounts in the namespace of this process, from /proc/self/mountinfo (proc(5)), and what is
 * mounted below the sources. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/mountinfo.h"
#include "base/text.h"

struct mount_table {
	struct mountinfo *entries; /* in the order of mounting; each owns its line */
	size_t count, capacity;
};

void mount_table_free(struct mount_table *table);
#define CLEANUP_TABLE CLEANUP(mount_table_free)

/* Reads the table of this process, without a request to any file system. Returns 0 or -errno. */
MUST_CHECK int mount_table_read(struct mount_table *table);

/* Reads the table of another process, from a file like /proc/PID/mountinfo. Returns 0 or -errno. */
MUST_CHECK int mount_table_read_from(struct mount_table *table, const char *name);

/* Adds a mount, and takes its line. Returns 0, or -ENOMEM and takes nothing. */
MUST_CHECK int mount_table_add(struct mount_table *table, struct mountinfo *mount);

/* Returns the mount that contains an absolute path without symlinks, or NULL. This is the mount
 * with the longest mount point; of several mounts on one mount point, the last. Borrowed from the
 * table. */
const struct mountinfo *mount_table_covering(const struct mount_table *table, const char *path);

/* Returns a mount of the view with this device number ("0:53"), or NULL. Borrowed. */
const struct mountinfo *mount_table_view_of(const struct mount_table *table, const char *device);

/* Converts a path to a path from the root of its file system, and appends the result. For two paths
 * on one device, the results show whether one path contains the other, even through bind mounts.
 *
 * path		absolute, without symlinks
 * entry	the mount that contains it
 *
 * Returns 0 or -ENOMEM. */
MUST_CHECK int mount_entry_locate(const struct mountinfo *entry, const char *path,
				  struct bytes *inside);

/* Returns whether the file system was mounted with an option without a value, such as "nodatasum".
 */
bool mount_entry_has_option(const struct mountinfo *entry, const char *option);

bool mount_entry_is_view(const struct mountinfo *entry);

/* Finds whether two folders are the same or one contains the other, also through another mount of
 * the same file system. Returns 1, 0 or -errno. */
MUST_CHECK int mount_table_overlap(const struct mount_table *table, const char *a, const char *b);

/* ---- below the sources ------------------------------------------------------------- */

/* What is mounted below the sources, from /proc/self/mountinfo: views, and file systems that an
 * index leaves out. Any thread. */

struct catalog_reader;
struct sources;

/* Adds the absolute path of each file system and subvolume below the sources that an index leaves
 * out, because its walks stay on the file system of each source. File systems without files of
 * users, such as proc and a view, are not added. Reads /proc/self/mountinfo, and asks no file
 * system. Returns 0 or -errno. */
MUST_CHECK int left_out_list(struct catalog_reader *reader, const struct sources *sources,
			     struct text_list *paths);

/* ---- mounted views -------------------------------------------------------------------------- */

/* The views that are mounted. A walk lists no directory of a view, as a view shows files that are
 * indexed in their sources. The list is loaded once and then read by any thread. */

struct view_mounts {
	dev_t devices[64]; /* further mounts are ignored */
	size_t count;
};

/* Reads /proc/self/mountinfo. Without /proc the list is empty. */
void view_mounts_load(struct view_mounts *mounts);

/* Returns true if fd, or a file with this st_dev, is on one of these mounts. */
bool view_mounts_have(const struct view_mounts *mounts, int fd);
bool view_mounts_have_device(const struct view_mounts *mounts, dev_t device);

#endif
