/* SPDX-License-Identifier: MIT */
#ifndef INDEX_FILE_H
#define INDEX_FILE_H

/* The life of a file record and of its known content. Only index includes this.
 *
 *   added -> has names -> orphan -> deleted
 *               ^------------'
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "index/change.h"
#include "index/record.h"
#include "index/writer.h"

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

/* ---- inode numbers -------------------------------------------------------------------------- */

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

/* ---- names beyond the first ----------------------------------------------------------------- */

/* Names of a file beyond its first one.
 *
 * Each such name has an id of its own, which stays the same while the name exists. The first name
 * has the id of the file. But if the first name is removed, another name becomes the first one and
 * keeps its own id. While the file is in a group, a record in TABLE_PLACE maps each own id to its
 * name. So the names of a group are in the order of their ids, which added or removed names do not
 * change.
 *
 * All functions return 0 or -errno. group: the group of the file; 0: none. */

/* Adds a name and gives it a new id. name->id is not used. */
MUST_CHECK int link_add(struct catalog_writer *w, const struct file_name *name, uint64_t group);

/* Writes or deletes the TABLE_PLACE records of all names that have their own id. */
MUST_CHECK int links_join(struct catalog_writer *w, const struct file_record *file, uint64_t group);
MUST_CHECK int links_leave(struct catalog_writer *w, const struct file_record *file,
			   uint64_t group);

#endif
