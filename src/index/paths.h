/* SPDX-License-Identifier: MIT */
#ifndef INDEX_PATHS_H
#define INDEX_PATHS_H

/* Names and paths, in a reader's snapshot.
 *
 * All functions return 0, -ENOENT if the object does not exist, -EUCLEAN if a record is damaged, or
 * another -errno. Names in records are borrowed until the snapshot ends; in a transaction, until
 * its next change. After a failure, the bytes that were appended to a path are undefined.
 */

#include "base/bytes.h"
#include "index/catalog.h"
#include "index/emptied_place.h"

/* Finds a name in a directory. */
MUST_CHECK int catalog_find_entry(struct catalog_reader *r, uint64_t dir, struct name name,
				  struct entry_record *entry);

/* Finds the entry at a path relative to a directory. The path has names separated by one slash, and
 * is not empty. */
MUST_CHECK int catalog_find_path(struct catalog_reader *r, uint64_t dir, const char *relative,
				 struct entry_record *entry);

/* Appends the path of a directory, or of a name in it, relative to its source ("" for the root).
 * Sets *source to the number of the source. */
MUST_CHECK int catalog_dir_path(struct catalog_reader *r, uint64_t dir, struct bytes *path,
				uint32_t *source);
MUST_CHECK int catalog_entry_path(struct catalog_reader *r, uint64_t dir, uint64_t cookie,
				  struct bytes *path, uint32_t *source);

/* Where a name, or each name in a directory, is. */
struct location {
	uint32_t source; /* number of the source */
	/* PLACE_CACHE, PLACE_SNAPSHOT, PLACE_MEMORY or PLACE_LASTS, by the flags of the directories
	 * above; emptied_place_of() judges their names */
	enum emptied_place place;
};

/* As catalog_entry_path() and catalog_dir_path(), with the place. */
MUST_CHECK int catalog_entry_location(struct catalog_reader *r, uint64_t dir, uint64_t cookie,
				      struct bytes *path, struct location *location);
MUST_CHECK int catalog_dir_location(struct catalog_reader *r, uint64_t dir, struct bytes *path,
				    struct location *location);

/* Appends the path of a file. If the file has several paths, appends the one that is first by
 * source, then by path. Returns -ENOENT for an orphan. */
MUST_CHECK int catalog_file_path(struct catalog_reader *r, const struct file_record *file,
				 struct bytes *path, uint32_t *source);

/* Sets *cycle to whether the parents of the directory lead into a cycle. Returns -ENOENT if a
 * parent is missing. */
MUST_CHECK int catalog_dir_is_in_cycle(struct catalog_reader *r, uint64_t dir, bool *cycle);

#endif
