/* SPDX-License-Identifier: MIT */
#ifndef CLI_ACT_RUN_H
#define CLI_ACT_RUN_H

/* Carries out an act that the user has confirmed: progress, messages about each copy that is left
 * alone, the result, and the exit status. For the main thread. */

#include <stdint.h>

#include "act/act.h"
#include "base/attributes.h"
#include "cli/acting.h"
#include "cli/current_index.h"
#include "twinfs/exit.h"

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
