/* SPDX-License-Identifier: MIT */
#ifndef CLI_PREPARED_H
#define CLI_PREPARED_H

/* The plan of a command that acts, from the selection to the answer of the user. For the main
 * thread. */

#include <stdint.h>

#include "base/attributes.h"
#include "cli/acting.h"
#include "cli/list_print.h"
#include "index/current_index.h"
#include "plan/plan.h"
#include "report/summary.h"

/* All zeros is valid and empty. */
struct prepared {
	struct act_plan plan;
	struct report_summary summary; /* of the snapshot from which the plan was made */
	uint64_t refused; /* copies that are not in the plan, as the act would refuse them */
};

void prepared_free(struct prepared *prepared);
#define CLEANUP_PREPARED CLEANUP(prepared_free)

/* Outcome: a path of --protect or --only, or a glob of --exclude, matches nothing. */
enum {
	PREPARED_MISSPELLED = 1,
};

/* Makes the plan from one snapshot of the index: by the rules, or by the file of --plan. Returns 0,
 * PREPARED_MISSPELLED or -errno; both are logged. */
MUST_CHECK int prepared_make(struct prepared *prepared, const struct acting *acting,
			     const struct list_request *request, const struct current_index *index);

/* Drops from the plan what the act would refuse, and logs it. Blocks on the files. Returns 0 or
 * -errno; failures are logged. */
MUST_CHECK int prepared_try(struct prepared *prepared, const struct acting *acting);

/* Prints the plan of a dry run. Returns the exit status. */
enum twinfs_exit prepared_print(struct prepared *prepared, const struct acting *acting,
				const struct current_index *index);

/* Asks the user whether to act, unless --yes was given. The user can change the plan. Returns 1 to
 * act, 0 not to act, or -errno (logged). */
MUST_CHECK int prepared_confirm(struct prepared *prepared, const struct acting *acting,
				const struct current_index *index);

#endif
