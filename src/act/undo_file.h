/* SPDX-License-Identifier: MIT */
#ifndef ACT_UNDO_FILE_H
#define ACT_UNDO_FILE_H

/* Brings back one file. Only act/ includes this header. One thread. */

#include "act/undo_make.h"

/* Brings back the file of a record. An intent that is left in the journal is resolved by
 * recovery_run(). Changed names are noted in undo->durable, and not synced. */
void undo_file(struct undo *undo, const struct record *record, struct undo_result *result);

/* Brings back the moved or trashed file itself (undo_moved.c). Returns whether the outcome is
 * filled in. */
MUST_CHECK bool undo_return_moved(struct bringing *bringing);

/* Completes the undo of a move that was interrupted after the file was copied back. */
void undo_complete_move(struct bringing *bringing);

#endif
