/* SPDX-License-Identifier: MIT */
#ifndef CLI_ACTING_H
#define CLI_ACTING_H

/* What remove, move, link and dedupe have in common: their options, what they ask before, what they
 * say after. For the first thread.
 */

#include "act/act.h"
#include "cli/common_options.h"
#include "cli/rule_options.h"
#include "report/report.h"
#include "twinfs/exit.h"

/* Options of acting_options; a command's own begin behind them. */
#define OPTION_ID_ACTING OPTION_ID_OWN
#define OPTION_ID_ACT (OPTION_ID_OWN + 20)

struct acting {
	struct common_settings common;
	struct rule_settings rules;
	struct act_settings act; /* kind, destination and what the options say */
	enum report_format format; /* of a dry run */
	bool format_given;
	bool dry_run;
	bool yes;
	/* Words for people: "remove", "removed". */
	const char *verb;
	const char *done;
};

extern const struct option_spec acting_options[];

void acting_init(struct acting *acting, enum act_kind kind, const char *verb, const char *done);
void acting_deinit(struct acting *acting);
#define CLEANUP_ACTING CLEANUP(acting_deinit)

/* Takes one of all these options; the results are those of struct option_table's apply. */
MUST_CHECK int acting_apply(struct acting *acting, int id, const char *value);

/* Does it all for the operands, SOURCE... or MOUNTPOINT. What to exit with; all is said. */
enum twinfs_exit acting_run(struct acting *acting, const struct option_table *table,
			    char *const *operands, size_t count);

#endif
