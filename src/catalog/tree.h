/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_TREE_H
#define CATALOG_TREE_H

/* Entries of directories within a write transaction. Only catalog/ includes this. */

#include "catalog/writer.h"

/* Puts the entry behind the first free cookie of its hash, from entry->cookie up, and leaves that
 * in it. -EEXIST: there are too many names of one hash. */
MUST_CHECK int tree_add_entry(struct catalog_writer *w, struct entry_record *entry);

/* Removes a name, a directory with all that is below it; nothing where there is none, or where it
 * means another child than child (0: any). */
MUST_CHECK int tree_remove_name(struct catalog_writer *w, uint64_t dir, uint64_t cookie,
				uint64_t child);

/* Removes a directory that has no name any more, with all that is below it. */
MUST_CHECK int tree_remove_dir(struct catalog_writer *w, uint64_t id);

#endif
