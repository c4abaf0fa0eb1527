/* SPDX-License-Identifier: MIT */
#ifndef PLAN_CHOICE_H
#define PLAN_CHOICE_H

/* Decisions of the user, group by group, like those of 'fdupes -d'. For the main thread. */

#include "base/attributes.h"
#include "plan/question.h"

/* Shows each group of a plan and asks what stays. Adds what goes to another plan, and rewinds both.
 * Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int choice_make(const struct question *question, struct act_plan *plan,
			   struct act_plan *chosen);

#endif
