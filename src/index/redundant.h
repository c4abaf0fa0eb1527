/* SPDX-License-Identifier: MIT */
#ifndef INDEX_REDUNDANT_H
#define INDEX_REDUNDANT_H

/* The directories that have redundant copies at any depth, and the times at which a listing in the
 * view changed, within a write transaction. Only index includes this.
 *
 * Whether a file is redundant is known only at the end of the transaction, when its group has
 * chosen the kept copy. So added and removed names are recorded until then. These names are then
 * counted with the state that their file had when the transaction began. The present names of files
 * that became redundant, or stopped being redundant, are counted in addition. Added and removed
 * directories are counted in their parents. If the count of a directory becomes zero or positive,
 * the count of its parent changes, and so on up to the root. So the cost of a commit depends on the
 * number of changes and on the depth at which a count changes.
 *
 * Programs that read a view look for changes by the ctime. In the source, no ctime moves when a
 * file becomes redundant or stops being redundant. So the file, and each directory whose listing in
 * uniques/ or redundant/ changed, gets the time of the commit. Its ctime in the view is the later
 * one of both. A stored time never decreases, even if the clock was set back. The ctime of a
 * directory in the source can be one that the view has shown before: the kernel takes it from the
 * last timer tick. Such a directory gets the time of the commit, too. Nothing is stored for what no
 * view has shown, so a first scan stores no times. */

#include "base/attributes.h"
#include "index/commit_delta.h"
#include "index/writer.h"

/* Records that a name of a known file is added to a directory or removed from it. Returns 0 or
 * -ENOMEM. */
MUST_CHECK int redundant_note_name(struct catalog_writer *w, const struct file_record *file,
				   uint64_t dir, bool added);

/* Records that a known directory is added to a parent or removed from it. Returns 0 or -ENOMEM. */
MUST_CHECK int redundant_note_dir(struct catalog_writer *w, uint64_t id, uint64_t parent,
				  bool added);

/* Records that the record of a known directory was written, or that its names changed (relisted).
 * Returns 0 or -ENOMEM. */
MUST_CHECK int redundant_note_listing(struct catalog_writer *w, uint64_t dir, bool relisted);

/* Records that a directory was removed. Returns 0 or -ENOMEM. */
MUST_CHECK int redundant_note_gone(struct catalog_writer *w, uint64_t dir);

/* Updates the counts and times, at the end of the transaction, after groups_flush() and
 * redundancy_changes_find(). Returns 0 or -errno. */
MUST_CHECK int redundant_flush(struct catalog_writer *w);

/* Frees what was recorded, after redundant_flush() or instead of it. */
void redundant_discard(struct catalog_writer *w);

/* ---- changes of redundancy ------------------------------------------------------------------ */

/* The files that became redundant, or stopped being redundant, in a transaction. Pure code, any
 * thread. Only index includes this. */

/* Fills DELTA_REDUNDANCY from DELTA_GROUPS and from the files that joined groups or left them.
 *
 * members	of struct member_delta (writer.h); is sorted
 *
 * Returns 0 or -ENOMEM. */
MUST_CHECK int redundancy_changes_find(struct commit_delta *delta, struct bytes *members);

#endif
