/* SPDX-License-Identifier: MIT */
#ifndef PLAN_TRY_H
#define PLAN_TRY_H

/* Drops from a plan what the acts would refuse. One thread. */

#include "act/act.h"
#include "base/attributes.h"
#include "base/progress.h"
#include "plan/plan.h"
#include "plan/refusals.h"

struct plan_trial {
	const struct act_settings *settings;
	struct refusals refusals;
	uint64_t needless; /* copies that already share the bytes of the kept copy */
};

/* Tries each act of a plan (act_try()). Adds those that would be done to another plan, with the
 * bytes that they would free, and rewinds both. Counts and logs the others in trial; the caller
 * calls refusals_end(). Blocks on the files. Returns 0, -EINTR if stop_requested(), or -errno. */
MUST_CHECK int act_plan_try(struct act_plan *plan, struct act_plan *possible,
			    struct plan_trial *trial, enum progress_when when);

#endif
