/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_SYMLINKS_H
#define CHOOSE_SYMLINKS_H

/* The symlinks of the sources that lead to copies: directly, through other symlinks, and through
 * folders that are symlinks. The kernel resolves them, and inodes are compared, so each path to the
 * copy counts. For a folder, the symlinks that lead to it or into it count, without those in it.
 *
 * To cost nothing where few symlinks lead to copies, a symlink is resolved only if the last name in
 * its target is that of a copy, or of a symlink to it, or if it leads to a symlink outside of the
 * sources. For folders, all symlinks are resolved. A symlink with a target of more than
 * TARGET_BYTES_MAX bytes is not known.
 *
 * Takes 32 bytes of memory for each symlink. One thread. */

#include "base/attributes.h"
#include "choose/copies.h"

struct catalog_reader;
struct sources;
struct symlinks;

/* Reads the symlinks of an index.
 *
 * folders	for copies that are folders
 *
 * Returns 0 or -errno. */
MUST_CHECK int symlinks_new(struct symlinks **symlinks, struct catalog_reader *reader,
			    const struct sources *sources, bool folders);
void symlinks_free(struct symlinks *symlinks);

/* Continues in another snapshot of the index. Symlinks that are new in it are not known. */
void symlinks_continue(struct symlinks *symlinks, struct catalog_reader *reader);

/* Sets the symlinks of each copy (copy.symlinks). Resolves symlinks on the disk. Returns 0 or
 * -errno. */
MUST_CHECK int symlinks_find(struct symlinks *symlinks, struct copies *copies);

#endif
