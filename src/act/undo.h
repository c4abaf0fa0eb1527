/* SPDX-License-Identifier: MIT */
#ifndef ACT_UNDO_H
#define ACT_UNDO_H

/* Undoing acts that were cut off, by a power cut or a signal: every file gets its name back. One
 * thread. */

#include <stdint.h>

#include "act/journal.h"
#include "act/place.h"
#include "base/attributes.h"

struct undone {
	uint64_t files; /* that have their names again */
	uint64_t completed; /* moves that had only to be ended */
	uint64_t left; /* that could not be dealt with now: each was said */
};

/* Undoes what a journal has left, and says so of each file. What cannot be reached stays in the
 * journal: a source, a disk in it or the destination of a move that is not mounted. 0 or -errno of the journal. */
MUST_CHECK int undo_acts(struct journal *journal, struct undone *undone);

/* Opens the journal of an index for that, where there is something in it. 0, -EWOULDBLOCK while a
 * process acts, or -errno. */
MUST_CHECK int undo_acts_of(const char *folder, struct undone *undone);

/* Gives what stands under another name its own again, or, where there is something new, one beside
 * it: which is then in stray, else that is empty. 0 or -errno. */
MUST_CHECK int undo_rename(const struct place *place, const char *other, struct bytes *stray);

#endif
