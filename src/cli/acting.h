/* SPDX-License-Identifier: MIT */
#ifndef CLI_ACTING_H
#define CLI_ACTING_H

/* The common parts of remove, move, link and dedupe: options, the plan, the confirmation, and the
 * result. For the main thread.
 */

#include <stdint.h>

#include "act/act.h"
#include "base/attributes.h"
#include "base/numbers.h"
#include "choose/report.h"
#include "cli/current_index.h"
#include "cli/selection.h"
#include "twinfs/exit.h"

/* The settings of an act; those of a command begin with it. */
struct acting {
	struct selection_settings selection;
	struct act_settings act; /* kind, destination and further options */
	enum report_format format; /* of --dry-run */
	bool format_given;
	bool dry_run;
	bool folders; /* of folders_option: act upon whole folders */
	bool yes;
	const char *log; /* --log; NULL: none */
	bool attested; /* the plan is a list of what other hosts keep (cli/cmd_remove.c) */
	const char *plan_file; /* of --plan, borrowed; NULL: the rules select the copies */
	/* The verb for messages, and its past participle: "remove", "removed". */
	const char *verb;
	const char *done;
};

extern const struct option_spec acting_options[];
extern const struct option_spec folders_option[]; /* of remove and move */

/* Sets what is not zero at first. */
void acting_init(struct acting *acting, enum act_kind kind, const char *verb, const char *done);

/* The functions of struct command, for settings that begin with a struct acting. */
void acting_free(void *acting);
const char *acting_fault(const void *acting, char *const *operands, size_t operand_count);

/* Returns what the command acts upon, in a message: "copy" or "folder", or the plural. */
static inline const char *acting_noun(const struct acting *acting, uint64_t count)
{
	return acting->folders ? plural(count, "folder", "folders")
			       : plural(count, "copy", "copies");
}

/* Returns what is wrong if no terminal can answer whether to act, or NULL. */
const char *acting_question_fault(const struct acting *acting);

/* After a question whether to act that was not answered with yes: 0 or -errno. Returns the exit
 * status. */
enum twinfs_exit acting_explain_refusal(int answer);

/* Runs the command for its operands, SOURCE... or MOUNTPOINT. Returns the exit status. */
enum twinfs_exit acting_run(void *acting, char **operands, size_t count);

/* ---- the act --------------------------------------------------------------------------------- */

/* Carries out an act that the user has confirmed: progress, messages about each copy that is left
 * alone, the result, and the exit status. For the main thread. */

struct act_work {
	uint64_t names; /* to act upon */
	/* Adds all of them to the act, until stop_requested(). Returns 0, or another result of
	 * act_add(), which ends the work. */
	int (*add_all)(void *context, struct act *act);
	void *context;
};

/* Does the work. Returns the exit status; failures are logged. */
enum twinfs_exit act_run(struct acting *acting, struct current_index *index,
			 const struct act_work *work);

/* Updates the index if the act has emptied a source. Without the update, the next scan would refuse
 * the empty source. A mounted view updates its index itself. Returns 0 or -errno, logged. */
MUST_CHECK int act_run_update_emptied(struct current_index *index);

#endif
