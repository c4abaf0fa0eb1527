/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_FILE_H
#define CATALOG_FILE_H

/* The life of a file record and of what is known of its content. Only catalog/ includes this.
 *
 *   added -> has names -> orphan -> deleted
 *               ^------------'
 */

#include "catalog/change.h"
#include "catalog/writer.h"

/* A new inode with names names, the first of which is at (dir, cookie). A regular file is a
 * candidate only once it is listed by size. */
MUST_CHECK int file_add(struct catalog_writer *w, const struct file_record *file);

/* Is it no file that is left out of the list by size until a walk is through? */
bool file_is_listed(const struct catalog_writer *w, uint64_t id);

/* Lists a regular file by size and by what is known of its content; or takes it off. */
MUST_CHECK int file_list_size(struct catalog_writer *w, uint64_t id, uint64_t size,
			      const struct content_record *content);
MUST_CHECK int file_unlist_size(struct catalog_writer *w, uint64_t id, uint64_t size,
				const struct content_record *content);

/* Names that come to a file, one after the other. */
struct name_run {
	uint64_t file;
	uint32_t left; /* how many are still to come, with this one */
	uint32_t flags; /* what is said with each of them */
};

/* A name comes, which change says, or the one at (dir, cookie) goes. The last name that goes makes
 * an orphan. */
MUST_CHECK int file_add_name(struct catalog_writer *w, const struct name_change *change,
			     const struct name_run *run);
MUST_CHECK int file_remove_name(struct catalog_writer *w, uint64_t id, uint64_t dir,
				uint64_t cookie);

/* NAME_UPDATE_FILE: with another signature the content is not known any more. Nothing where the
 * file is gone. */
MUST_CHECK int file_update(struct catalog_writer *w, const struct name_change *change);

/* The content is not known any more. Nothing where the file is gone. */
MUST_CHECK int file_touch(struct catalog_writer *w, uint64_t id);

/* Deletes an orphan. */
MUST_CHECK int file_delete(struct catalog_writer *w, uint64_t id);

/* Forgets the content of files below min_size, so that they are in no group. */
MUST_CHECK int files_forget_small_content(struct catalog_writer *w, uint64_t min_size);

#endif
