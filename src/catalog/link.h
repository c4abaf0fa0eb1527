/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_LINK_H
#define CATALOG_LINK_H

/* Names of a file beyond its first one, within a write transaction. Only catalog/ includes this.
 *
 * Each such name has an id of its own, which stays the same while the name exists. The first name
 * has the id of the file. But if the first name is removed, another name becomes the first one and
 * keeps its own id. While the file is in a group, a record in TABLE_PLACE maps each own id to its
 * name. So the names of a group are in the order of their ids, which added or removed names do not
 * change.
 *
 * All functions return 0 or -errno. group: the group of the file; 0: none. */

#include "catalog/writer.h"

/* Adds a name and gives it a new id, or removes a name. name->id is not used. */
MUST_CHECK int link_add(struct catalog_writer *w, const struct file_name *name, uint64_t group);
MUST_CHECK int link_remove(struct catalog_writer *w, const struct file_name *name, uint64_t group);

/* As link_add(), but finds the group, and notes that the kept copy of it has to be judged again. */
MUST_CHECK int links_add(struct catalog_writer *w, const struct file_name *name);

/* Has the kept copy of the group judged again if the file gets other attributes that matter for the
 * keep rules. */
MUST_CHECK int links_judge_attributes(struct catalog_writer *w, const struct file_record *file,
				      const struct attributes *attributes);

/* Has the group of a file mapped again if file_is_held_outside() is not what it was. */
MUST_CHECK int links_note_held(struct catalog_writer *w, const struct file_record *file,
			       bool was_held);

/* Replaces the first name in *file by another name. The caller must write *file. */
MUST_CHECK int link_promote(struct catalog_writer *w, struct file_record *file, uint64_t group);

/* Writes or deletes the TABLE_PLACE records of all names that have their own id. */
MUST_CHECK int links_join(struct catalog_writer *w, const struct file_record *file, uint64_t group);
MUST_CHECK int links_leave(struct catalog_writer *w, const struct file_record *file,
			   uint64_t group);

#endif
