/* SPDX-License-Identifier: MIT */
#ifndef ACT_INTERNAL_H
#define ACT_INTERNAL_H

/* What the kinds of acts share. Only act/ includes this. */

#include "act/act.h"
#include "act/arrived.h"
#include "act/held.h"
#include "act/journal.h"
#include "act/place.h"
#include "base/bytes.h"

/* A file that is acted upon, or that copies are acted upon for. */
struct subject {
	const struct act_file *file;
	struct place place;
	struct held held;
};

/* One act. */
struct one_act {
	const struct act_settings *settings;
	struct subject *kept;
	struct subject copy;
	const char *other; /* the name that the copy, or its link, has for a while */
	const char *to; /* ACT_MOVE: where it goes, absolute */
	int destination; /* ACT_MOVE: the folder, O_PATH */
	struct arrived *arrived; /* ACT_MOVE: what the name before it became */
	const char *target; /* ACT_SYMLINK */
	struct journal *journal; /* borrowed, as is the intent */
	const struct intent *intent;
	uint64_t
		verified_ns; /* when the bytes were the same and nobody was at either, clock_monotonic_ns() */
	struct act_result *result;
	struct bytes *stray; /* the caller's, for result->stray */
	bool is_saved_elsewhere; /* its bytes are where the journal says: the intent has no end yet */
};

/* Opens and holds a file. 0, or fills in the result and returns 1.
 *
 * kept		it is the one that stays: then the result says so
 */
MUST_CHECK int subject_open(struct subject *subject, const struct act_settings *settings, bool kept,
			    struct act_result *result);
void subject_close(struct subject *subject);

/* Each acts upon the copy, which is held like the kept file, and fills in the result: the outcome
 * and what came free. */
void act_remove_or_move(struct one_act *act); /* ACT_REMOVE, ACT_MOVE */
void act_replace(struct one_act *act); /* ACT_LINK, ACT_SYMLINK */
void act_dedupe(struct one_act *act);
void act_trash(struct one_act *act);

/* Are the two files still what they must be, and their bytes the same? Reads both. Otherwise the
 * outcome is filled in. */
MUST_CHECK bool one_act_verify(struct one_act *act);

/* Is the kept file still there under its name, and nobody at either of them? Otherwise the outcome
 * is filled in. */
MUST_CHECK bool one_act_still_holds(struct one_act *act);

/* Is what stands under the other name what was compared, and all else as it must be? Without leases
 * the bytes are compared once more, as they may have been written to by the path until now.
 * Otherwise the outcome is filled in. */
MUST_CHECK bool one_act_is_still_verified(struct one_act *act);

/* Renames a verified copy to its other name and verifies what is there by then. Otherwise the outcome
 * is filled in, and the copy has its own name. */
MUST_CHECK bool one_act_set_aside(struct one_act *act);

/* Fills in the outcome of a call that failed: error is an -errno. */
void one_act_fail(struct one_act *act, int error);

/* Fills in an outcome; false. */
bool one_act_refuse(struct one_act *act, enum act_outcome outcome);

/* What stands under the other name gets the copy's own again: or a name beside it, or stays, and
 * the result says so. */
void one_act_put_back(struct one_act *act);

/* Fills in what undo_rename() or its like came to. */
void one_act_note_undone(struct one_act *act, int result);

/* Removes what stands under the other name, and fills in what came free. What happened in the last
 * moment is seen after it: where that makes the copy's bytes needed, and it has no name left, it gets
 * its own back; who is writing to it is waited for. -errno: nothing was removed.
 *
 * was_right	asked when the copy has no name any more. Where it says no, it has filled in why and made
 *		way at the copy's name
 */
MUST_CHECK int one_act_remove_other(struct one_act *act, bool (*was_right)(struct one_act *act));

#endif
