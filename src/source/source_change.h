/* SPDX-License-Identifier: MIT */
#ifndef SOURCE_SOURCE_CHANGE_H
#define SOURCE_SOURCE_CHANGE_H

/* Detects that the directory at the path of a source is not the tree that the index knows: its disk
 * is not mounted, or another one is. A walk would then find nothing, and the view and a copy made of
 * it would lose everything.
 *
 * The index stores the identity of the file system of each source when a scan begins: type, UUID
 * (FS_IOC_GETFSUUID, Linux 6.9) and f_fsid of statfs(2). A part that one of two identities lacks is
 * not compared. f_fsid is left out where the kernel derives it from the device number, which depends
 * on the order of mounting. NFS, FUSE, FAT and others have a type only: two of a kind look alike.
 *
 * A directory made anew in the place of the root, on the same file system, is accepted if something
 * is in it: people move trees aside and restore them. One thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "source/source.h"

enum source_change_kind {
	SOURCE_SAME,
	SOURCE_GONE, /* there is no directory at its path */
	SOURCE_REPLACED, /* it is on another file system */
	SOURCE_EMPTIED, /* it is empty, and the index has names in it */
	SOURCE_EMPTY, /* it is empty, and was never scanned */
};

/* Compares each source, as opened, with the index. *which is the number of the first that is not the
 * same, *kind how it changed: SOURCE_SAME where all are. Blocks on the disk. 0 or -errno. */
MUST_CHECK int sources_find_change(const struct sources *sources, size_t *which,
				   enum source_change_kind *kind);

/* Finds a directory in a source on which another file system was mounted when it was scanned, and is
 * not now: it is empty. Appends its absolute path to path, nothing if there is none. Only sources
 * that are walked across mounts have such directories. Reads all directories of the index. 0 or
 * -errno. */
MUST_CHECK int sources_find_unmounted(const struct sources *sources, struct bytes *path);

/* Stores how the sources are now, by the process that writes the index. 0 or -errno. */
MUST_CHECK int sources_accept(const struct sources *sources);

/* Is the open directory (O_PATH will do) empty? One that cannot be read is not. */
bool directory_is_empty(int fd);

/* Is the open directory empty where the index has names in the source? False also where the index
 * cannot be read. Any thread. */
bool source_is_emptied(const struct sources *sources, const struct source *source, int fd);

#endif
