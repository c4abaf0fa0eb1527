/* SPDX-License-Identifier: MIT */
#ifndef ACT_TRIAL_H
#define ACT_TRIAL_H

/* Finds how an act on a copy would end, without a change to any file. One thread.
 *
 * Kept file and copy are opened and held as for the act, so a trial refuses what the act would
 * refuse. It compares no bytes, and cannot foresee what other programs do before the act. A full
 * disk is not foreseen either.
 *
 * Without a kept file (act_add_attested()), only the copy is checked.
 *
 * act_trial_new() makes the process ignore SIGIO, as act_begin() does. */

#include "act/act.h"
#include "base/attributes.h"

struct act_trial;

/* Opens the destination of a move. settings is borrowed; its members folder, report and context are
 * not used. Returns 0 or -errno. */
MUST_CHECK int act_trial_new(struct act_trial **trial, const struct act_settings *settings);
void act_trial_free(struct act_trial *trial); /* accepts NULL */
static inline void act_trial_freep(struct act_trial **trial)
{
	act_trial_free(*trial);
}
#define CLEANUP_ACT_TRIAL CLEANUP(act_trial_freep)

/* Sets result to the outcome of the act. Its freed_bytes are those that the copy has on the disk,
 * shares with no other file, and would free together with all its names. Blocks on the files.
 *
 * kept		NULL: other hosts keep the content
 */
void act_try(struct act_trial *trial, const struct act_file *kept, const struct act_file *copy,
	     struct act_result *result);

/* As act_try(), for act_add_folder(). Reads all names of the folder. The text of result->inside is
 * valid until the next trial. */
void act_try_folder(struct act_trial *trial, const struct act_file *kept,
		    const struct act_file *copy, struct act_result *result);

#endif
