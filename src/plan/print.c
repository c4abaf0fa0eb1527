/* SPDX-License-Identifier: MIT */
#include "plan/print.h"

struct printing_plan {
	struct act_plan *plan;
	struct planned_group group;
};

static int next_group(void *context, const struct group_record **group,
		      const struct copies **copies, uint64_t *files)
{
	struct printing_plan *printing = context;
	int r = act_plan_next(printing->plan, &printing->group);

	*files = printing->group.files;
	*group = &printing->group.group;
	*copies = &printing->group.copies;
	return r;
}

int act_plan_print(struct act_plan *plan, const struct report *report, struct output *output,
		   struct report_summary *summary)
{
	struct printing_plan printing = {.plan = plan};
	const struct report_feed feed = {.next = next_group, .context = &printing};
	struct report planned = *report;
	int r;

	planned.part = REPORT_PLANNED;
	planned.folders = plan->folders;
	r = report_print_feed(&planned, &feed, output, summary);
	planned_group_free(&printing.group);
	return r < 0 ? r : act_plan_rewind(plan);
}
