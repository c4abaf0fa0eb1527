/* SPDX-License-Identifier: MIT */
#ifndef INDEX_FOLDERS_H
#define INDEX_FOLDERS_H

/* The groups of directories with equal trees, within a write transaction. Only index includes
 * this.
 *
 * What a name contributes to its directory is its token (folder_token.h). A directory is in one of
 * three states.
 *
 * - Most directories have a name that nothing equals, a witness, so they equal nothing. If one of
 *   the first names is a witness, the directory has no record. It is searched again after each
 *   change.
 * - If the search took longer, a record has the cookie of the witness. While the witness equals
 *   nothing, changes of other names need no work.
 * - If a search finds no witness, or is very long, the record counts: it has the sum of the
 *   hashes of all tokens, and the number of names that equal nothing. Each later change adds the
 *   difference of the tokens, so its cost does not depend on the number of names. The record counts
 *   until the directory is removed.
 *
 * A counted directory is complete if each of its names equals another one, and its record has no
 * error and no flag. The table bytree has the complete directories by their sums. Equal sums only
 * make two directories candidates. They share a folder group if all names and tokens were compared,
 * which proves equal trees: tokens of subdirectories are equal if they are in one folder group. A
 * directory that enters or leaves a folder group has another token, which is a change in its
 * parent, and so on up to the root.
 *
 * A transaction records which names, files and directories it changed. At its end, the tokens of
 * these names before it, from the last snapshot, and the present ones are compared. So a change
 * costs what it touches times the depth at which folder groups change. To move a directory changes
 * two names. */

#include "index/writer.h"

/* Each function records a change. It does nothing while the folder groups are not known. Returns 0
 * or -ENOMEM.
 *
 * - a name was added to a directory or removed from it
 * - the content, type, size, target or number of names of a file possibly changed
 * - a directory was added or removed, or its error or flags changed */
MUST_CHECK int folders_note_name(struct catalog_writer *w, uint64_t dir, uint64_t cookie);
MUST_CHECK int folders_note_file(struct catalog_writer *w, uint64_t file);
MUST_CHECK int folders_note_dir(struct catalog_writer *w, uint64_t dir);

/* Records the target of a symlink; empty: it is unknown. Returns 0 or -errno. */
MUST_CHECK int folders_put_target(struct catalog_writer *w, uint64_t file, struct name target);

/* Updates the folder groups, at the end of the transaction, after groups_flush(). Returns 0 or
 * -errno. */
MUST_CHECK int folders_flush(struct catalog_writer *w);

/* Frees what was recorded, after folders_flush() or instead of it. */
void folders_discard(struct catalog_writer *w);

#endif
