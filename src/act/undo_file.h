/* SPDX-License-Identifier: MIT */
#ifndef ACT_UNDO_FILE_H
#define ACT_UNDO_FILE_H

/* Brings back one file. Only act/ includes this header. One thread. */

#include "act/undo_make.h"

/* Brings back the file of a record. An intent that is left in the journal is resolved by
 * recovery_run(). Changed names are noted in undo->durable, and not synced. */
void undo_file(struct undo *undo, const struct record *record, struct undo_result *result);

#endif
