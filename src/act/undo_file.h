/* SPDX-License-Identifier: MIT */
#ifndef ACT_UNDO_FILE_H
#define ACT_UNDO_FILE_H

/* Brings back one file, folder or other name. Only act/ includes this header. One thread. */

#include "act/undo_make.h"

/* Brings back the file of a record. An intent that is left in the journal is resolved by
 * recovery_run(). Changed names are noted in undo->durable, and not synced. */
void undo_file(struct undo *undo, const struct record *record, struct undo_result *result);

/* Remembers a file that an earlier undo brought back, for undo_join(). */
void undo_recall(struct undo *undo, const struct record *record);

/* Brings back the moved or trashed file itself (undo_moved.c). Returns whether the outcome is
 * filled in. */
MUST_CHECK bool undo_return_moved(struct bringing *bringing);

/* Completes the undo of a move that was interrupted after the file was copied back. */
void undo_complete_move(struct bringing *bringing);

/* Brings back what a record that is not of a regular file describes, at bringing->place, and fills
 * in the outcome: a folder, symlink, FIFO, socket or device. The metadata of a new folder change
 * again when names are made in it, see undo_restore_time(). */
void undo_special(struct bringing *bringing);

/* Sets the mtime of a folder that undo_special() made. */
void undo_restore_time(const struct record *record);

#endif
