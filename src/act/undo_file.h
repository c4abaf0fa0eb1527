/* SPDX-License-Identifier: MIT */
#ifndef ACT_UNDO_FILE_H
#define ACT_UNDO_FILE_H

/* Brings back one file. Only act/ includes this header. One thread. */

#include <sys/stat.h>

#include "act/durable.h"
#include "act/journal.h"
#include "act/place.h"
#include "act/undo.h"

/* The file that was brought back last. If further names of the same copy follow, they become hard
 * links of it. */
struct brought_back {
	uint64_t inode; /* of the copy; 0: none */
	int64_t born_ns;
	uint64_t filesystem;
	struct hash128 hash;
	int fd; /* of the file now, O_PATH */
};

struct undo {
	const struct undo_settings *settings; /* borrowed */
	struct journal *journal;
	struct durable durable;
	struct brought_back last;
};

/* Brings back the file of a record. An intent that is left in the journal is resolved by
 * recovery_run(). Changed names are noted in undo->durable, and not synced. */
void undo_file(struct undo *undo, const struct record *record, struct undo_result *result);

/* Closes the file that was brought back last. */
void undo_forget_last(struct undo *undo);

#endif
