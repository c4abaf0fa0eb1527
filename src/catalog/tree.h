/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_TREE_H
#define CATALOG_TREE_H

/* Entries of directories within a write transaction. Only catalog/ includes this. */

#include "catalog/writer.h"

/* Adds the entry under the first free cookie of its hash, from entry->cookie on, and sets
 * entry->cookie. Returns 0, -EEXIST if too many names have the same hash, or another -errno. */
MUST_CHECK int tree_add_entry(struct catalog_writer *w, struct entry_record *entry);

/* Removes a name; a directory is removed with its whole tree. Does nothing if the name is missing.
 *
 * child	0, or the expected child: if the name refers to something else, it is not removed
 *
 * Returns 0 or -errno. */
MUST_CHECK int tree_remove_name(struct catalog_writer *w, uint64_t dir, uint64_t cookie,
				uint64_t child);

/* Removes a directory that has no entry in a parent, with its whole tree. Returns 0 or -errno. */
MUST_CHECK int tree_remove_dir(struct catalog_writer *w, uint64_t id);

#endif
