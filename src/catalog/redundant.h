/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_REDUNDANT_H
#define CATALOG_REDUNDANT_H

/* Which directories have redundant copies in them, at any depth, within a write transaction. Only
 * catalog/ includes this.
 *
 * Whether a file is redundant is only known when its group has chosen the kept copy, at the end of
 * the transaction. So names that come or go are noted until then, and counted as what their file
 * was when it began; after that, all names of a file that became redundant or unique are counted.
 * Directories count in what they lie in in the same way. Then a directory that holds something for
 * the first time, or nothing any more, changes the count of the one above, and so on: a commit
 * costs what it changes, and the way up where that matters. */

#include "catalog/writer.h"

/* A name of a file that the index knew before comes to a directory, or goes. 0 or -ENOMEM. */
MUST_CHECK int redundant_note_name(struct catalog_writer *w, const struct file_record *file,
				   uint64_t dir, bool comes);

/* A directory that was there before comes to another, or goes from it. 0 or -ENOMEM. */
MUST_CHECK int redundant_note_dir(struct catalog_writer *w, uint64_t id, uint64_t parent,
				  bool comes);

/* At the end of the transaction, when groups are flushed and flips are found. */
MUST_CHECK int redundant_flush(struct catalog_writer *w);
void redundant_discard(struct catalog_writer *w); /* after a flush or instead of it */

#endif
