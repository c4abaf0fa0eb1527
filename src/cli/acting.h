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
#include "cli/common_options.h"
#include "cli/current_index.h"
#include "cli/selection.h"
#include "twinfs/exit.h"

/* The first id of the options of a single command, above those of acting_options. */
#define OPTION_ID_ACT (OPTION_ID_OWN + 20)

struct acting {
	struct common_settings common;
	struct rule_settings rules;
	struct filter_settings filters;
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

void acting_init(struct acting *acting, enum act_kind kind, const char *verb, const char *done);
void acting_deinit(struct acting *acting);
#define CLEANUP_ACTING CLEANUP(acting_deinit)

/* Applies one of acting_options, filter_options, rule_options or the common options. The results
 * are those of the apply function of struct option_table. The context is a struct acting.
 */
MUST_CHECK int acting_apply(void *context, int id, const char *value);

/* Returns what the command acts upon, in a message: "copy" or "folder", or the plural. */
static inline const char *acting_noun(const struct acting *acting, uint64_t count)
{
	return acting->folders ? plural(count, "folder", "folders")
			       : plural(count, "copy", "copies");
}

/* Returns what is wrong with the command line, or NULL. */
const char *acting_fault(const struct acting *acting, char *const *operands, size_t operand_count);

/* Runs the command for its operands, SOURCE... or MOUNTPOINT. Returns the exit status. */
enum twinfs_exit acting_run(struct acting *acting, const struct option_table *table,
			    char *const *operands, size_t count);

/* Parses a command line whose only operands are SOURCE... or MOUNTPOINT, and runs the command.
 * Returns the exit status. */
enum twinfs_exit acting_main(struct acting *acting, const struct option_table *table, int argc,
			     char *argv[]);

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
