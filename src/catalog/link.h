/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_LINK_H
#define CATALOG_LINK_H

/* Names of a file beyond its first one, within a write transaction. Only catalog/ includes this.
 *
 * Each such name has an id of its own, which it keeps while the name exists. The first name has the
 * id of the file, or that of the name that took its place when an earlier first name was removed.
 * While the file is in a group, a record in TABLE_PLACE says which name has which id: so the names
 * of a group have an order that no other name changes, and a number that finds a place in it.
 *
 * All return 0 or -errno. group: of the file, 0: none. */

#include "catalog/writer.h"

MUST_CHECK int link_add(struct catalog_writer *w, const struct file_name *name, uint64_t group);
MUST_CHECK int link_remove(struct catalog_writer *w, const struct file_name *name, uint64_t group);

/* The first name is removed: another one takes its place in the record, which is not written. */
MUST_CHECK int link_promote(struct catalog_writer *w, struct file_record *file, uint64_t group);

/* Writes or deletes the places of all names that have an id of their own. */
MUST_CHECK int links_join(struct catalog_writer *w, const struct file_record *file, uint64_t group);
MUST_CHECK int links_leave(struct catalog_writer *w, const struct file_record *file,
			   uint64_t group);

/* Does the file have a name with an id of its own? */
static inline bool file_has_links(const struct file_record *file)
{
	return file->names > 1 || file->name;
}

#endif
