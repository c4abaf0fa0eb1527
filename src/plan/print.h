/* SPDX-License-Identifier: MIT */
#ifndef PLAN_PRINT_H
#define PLAN_PRINT_H

#include "base/attributes.h"
#include "plan/plan.h"
#include "report/report.h"

/* Prints a plan, and rewinds it. One thread.
 *
 * report	its members sources, shown and format are used; for folders also reader, unless
 *		the format prints names only
 * summary	has the figures of the whole index
 *
 * Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int act_plan_print(struct act_plan *plan, const struct report *report,
			      struct output *output, struct report_summary *summary);

#endif
