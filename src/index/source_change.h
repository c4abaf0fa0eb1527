/* SPDX-License-Identifier: MIT */
#ifndef INDEX_SOURCE_CHANGE_H
#define INDEX_SOURCE_CHANGE_H

/* Detects that the directory at the path of a source is not the indexed tree: its disk is not
 * mounted, or another disk is. A walk would then find nothing, and the view, and backups made from
 * it, would lose everything.
 *
 * When a scan begins, the index stores the identity of the file system of each source: type, UUID
 * (FS_IOC_GETFSUUID, Linux 6.9; or the volume id of FAT) and f_fsid of statfs(2). A part that is
 * missing in one of two identities is not compared. f_fsid is ignored if the kernel derives it from
 * the device number, which depends on the order of mounting. NFS, FUSE and others have only a type,
 * so two file systems of such a type cannot be distinguished.
 *
 * A recreated root directory on the same file system is accepted if it is not empty, because users
 * move trees aside and restore them. One thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "index/source.h"

enum source_change_kind {
	SOURCE_SAME,
	SOURCE_GONE, /* the root directory could not be opened */
	SOURCE_REPLACED, /* the root directory is on another file system */
	SOURCE_EMPTIED, /* the root directory is empty, but the index has names in it */
	SOURCE_EMPTY, /* the root directory is empty, and was never scanned */
};

/* Compares the sources with the index, up to the first source that has changed. Sets *which to the
 * number of this source and *kind to its change, or *kind to SOURCE_SAME. Blocks on the disk.
 * Returns 0 or -errno. */
MUST_CHECK int sources_find_change(const struct sources *sources, size_t *which,
				   enum source_change_kind *kind);

/* Finds an empty directory that was the mount point of another file system at the last scan, is on
 * a different file system now, and has names in the index. Appends the absolute path of the first
 * one to path. Reads all directories of the index. Returns 0 or -errno. */
MUST_CHECK int sources_find_unmounted(const struct sources *sources, struct bytes *path);

/* Returns whether a program can choose the ctime of files on the file system of a source, as far as
 * is known (catalog_lacks_ctime()). Reads only the index. Any thread. */
bool source_lacks_ctime(const struct sources *sources, size_t index, struct catalog_reader *reader);

/* Stores the current identities of the sources. For the process that writes the index. Returns 0 or
 * -errno.
 */
MUST_CHECK int sources_accept(const struct sources *sources);

/* Returns whether the open directory fd is empty although the index has names in the source.
 * Returns false if the index cannot be read. Any thread. */
bool source_is_emptied(const struct sources *sources, const struct source *source, int fd);

#endif
