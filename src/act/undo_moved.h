/* SPDX-License-Identifier: MIT */
#ifndef ACT_UNDO_MOVED_H
#define ACT_UNDO_MOVED_H

/* Returns moved and trashed files. Only act/ includes this header. One thread.
 *
 * On one file system, the file is renamed back. From another one it is copied back. Then the moved
 * file is quarantined and removed as an act removes a copy (act/one_act.h): it gets a private name,
 * which is in the journal, and must be the compared file under that name. */

#include "act/undo_make.h"

/* Brings back the moved or trashed file itself. Returns whether the outcome is filled in. */
MUST_CHECK bool undo_return_moved(struct bringing *bringing);

/* Completes the undo of a move that was interrupted after the file was copied back. */
void undo_complete_move(struct bringing *bringing);

#endif
