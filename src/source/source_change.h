/* SPDX-License-Identifier: MIT */
#ifndef SOURCE_SOURCE_CHANGE_H
#define SOURCE_SOURCE_CHANGE_H

/* Detects that the directory at the path of a source is not the indexed tree: its disk is not
 * mounted, or another disk is. A walk would then find nothing, and the view, and backups made from
 * it, would lose everything.
 *
 * When a scan begins, the index stores the identity of the file system of each source: type, UUID
 * (FS_IOC_GETFSUUID, Linux 6.9) and f_fsid of statfs(2). A part that is missing in one of two
 * identities is not compared. f_fsid is ignored if the kernel derives it from the device number,
 * which depends on the order of mounting. NFS, FUSE, FAT and others have only a type, so two file
 * systems of such a type cannot be distinguished.
 *
 * A recreated root directory on the same file system is accepted if it is not empty, because users
 * move trees aside and restore them. One thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "source/source.h"

enum source_change_kind {
	SOURCE_SAME,
	SOURCE_GONE, /* no directory exists at its path */
	SOURCE_REPLACED, /* it is on another file system */
	SOURCE_EMPTIED, /* it is empty, but the index has names in it */
	SOURCE_EMPTY, /* it is empty, and was never scanned */
};

/* Compares each opened source with the index. Sets *which to the number of the first source that
 * has changed, and *kind to its change; SOURCE_SAME if none has. Blocks on the disk. Returns 0 or
 * -errno. */
MUST_CHECK int sources_find_change(const struct sources *sources, size_t *which,
				   enum source_change_kind *kind);

/* Finds an empty directory that was a mount point of another file system at the last scan, and is
 * not a mount point now. Appends its absolute path to path; nothing if there is none. Only sources
 * that are walked across mounts have such directories. Reads all directories of the index. Returns
 * 0 or -errno. */
MUST_CHECK int sources_find_unmounted(const struct sources *sources, struct bytes *path);

/* Stores the current identities of the sources. For the process that writes the index. Returns 0 or
 * -errno.
 */
MUST_CHECK int sources_accept(const struct sources *sources);

/* Returns whether the open directory is empty although the index has names in the source. False if
 * the index cannot be read. Any thread. */
bool source_is_emptied(const struct sources *sources, const struct source *source, int fd);

#endif
