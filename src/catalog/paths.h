/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_PATHS_H
#define CATALOG_PATHS_H

/* Names and paths, in a reader's snapshot.
 *
 * All return 0 when found, -ENOENT when there is none, -EUCLEAN for a damaged record (logged), or
 * another -errno. Names in records are borrowed from the snapshot until it ends.
 */

#include "base/bytes.h"
#include "catalog/catalog.h"

/* A name in a directory. */
MUST_CHECK int catalog_find_entry(struct catalog_reader *r, uint64_t dir, struct name name,
				  struct entry_record *entry);

/* What is at a path relative to a directory: names with a slash between, not "". */
MUST_CHECK int catalog_find_path(struct catalog_reader *r, uint64_t dir, const char *relative,
				 struct entry_record *entry);

/* Appends the path of a directory, or of a name in it, relative to its source ("" for the root
 * itself), and tells which source that is. */
MUST_CHECK int catalog_dir_path(struct catalog_reader *r, uint64_t dir, struct bytes *path,
				uint32_t *source);
MUST_CHECK int catalog_entry_path(struct catalog_reader *r, uint64_t dir, uint64_t cookie,
				  struct bytes *path, uint32_t *source);

/* Appends the path of a file: of its names the one that comes first by source and path. -ENOENT
 * for an orphan. */
MUST_CHECK int catalog_file_path(struct catalog_reader *r, const struct file_record *file,
				 struct bytes *path, uint32_t *source);

/* Does the way up from the directory lead in a circle? -ENOENT: something above it is gone. */
MUST_CHECK int catalog_dir_is_in_circle(struct catalog_reader *r, uint64_t dir, bool *circle);

#endif
