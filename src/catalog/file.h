/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_FILE_H
#define CATALOG_FILE_H

/* The life of a file record and of its known content. Only catalog/ includes this.
 *
 *   added -> has names -> orphan -> deleted
 *               ^------------'
 */

#include "catalog/change.h"
#include "catalog/writer.h"

/* Adds a new inode with file->names names. The caller then adds the names beyond the first
 * (link_add()) and, if the file is regular, adds it to the list by size (file_list_size()). */
MUST_CHECK int file_add(struct catalog_writer *w, const struct file_record *file);

/* Adds a regular file to the list by size and known content (table bysize), or removes it. */
MUST_CHECK int file_list_size(struct catalog_writer *w, uint64_t id, uint64_t size,
			      const struct content_record *content);
MUST_CHECK int file_unlist_size(struct catalog_writer *w, uint64_t id, uint64_t size,
				const struct content_record *content);

/* Names that are added to one file in successive calls of file_add_name(). */
struct name_run {
	uint64_t file;
	uint32_t left; /* number of names to add, including the one of this call */
	uint32_t flags; /* enum file_change_flag: flags that hold for all of these names */
};

/* Adds the name of change, or removes the name at (dir, cookie). A file that loses its last name
 * becomes an orphan. */
MUST_CHECK int file_add_name(struct catalog_writer *w, const struct name_change *change,
			     const struct name_run *run);
MUST_CHECK int file_remove_name(struct catalog_writer *w, uint64_t id, uint64_t dir,
				uint64_t cookie);

/* Applies NAME_UPDATE_FILE. Does nothing if the file is missing. */
MUST_CHECK int file_update(struct catalog_writer *w, const struct name_change *change);

/* Calls group_keep_again() for a file that joined the group. */
MUST_CHECK int file_keep_again(struct catalog_writer *w, uint64_t id, uint64_t group);

/* Deletes an orphan. */
MUST_CHECK int file_delete(struct catalog_writer *w, uint64_t id);

/* Makes the content of all files with names that are smaller than min_size unknown, so that they
 * are in no group. */
MUST_CHECK int files_forget_small_content(struct catalog_writer *w, uint64_t min_size);

#endif
