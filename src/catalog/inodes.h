/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_INODES_H
#define CATALOG_INODES_H

/* Changes the table of files by inode number. Inside a transaction. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "catalog/record.h"
#include "catalog/writer.h"

/* The block of inode numbers that is being changed. Begin with zero. If the numbers ascend, each
 * block is read and written once. */
struct inode_cursor {
	bool loaded;
	bool changed;
	struct key key;
	struct inode_block block;
};

/* Sets *file to the place of the file id of an inode number: 0 if no file has the number. The place
 * is valid until the next call. After a change of the id, the caller must set cursor->changed.
 * Returns 0 or -errno. */
MUST_CHECK int inodes_seek(struct catalog_writer *w, struct inode_cursor *cursor,
			   const struct attributes *attributes, uint64_t **file);

/* Writes the last changed block. Returns 0 or -errno. */
MUST_CHECK int inodes_flush(struct catalog_writer *w, struct inode_cursor *cursor);

#endif
