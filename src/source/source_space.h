/* SPDX-License-Identifier: MIT */
#ifndef SOURCE_SOURCE_SPACE_H
#define SOURCE_SOURCE_SPACE_H

/* The space on the file systems of the sources. Any thread. */

#include <sys/statvfs.h>

#include "source/source.h"

/* Size of the blocks in bytes, in which all file systems are counted. */
#define SOURCE_SPACE_BLOCK 4096

/* Adds the blocks and inodes, all and free, of each file system that has the root of a source that
 * is not missing. A file system counts once; subvolumes of btrfs count as one each. A file system
 * that refuses statfs(2) counts as empty, and so do all if memory is short. */
void sources_add_space(const struct sources *sources, struct statvfs *space);

#endif
