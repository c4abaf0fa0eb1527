/* SPDX-License-Identifier: MIT */
#include "plan/print.h"

#include "base/size.h"

struct printing_plan {
	struct act_plan *plan;
	struct planned_group group;
};

static int next_group(void *context, const struct group_record **group,
		      const struct copies **copies, struct report_folders *folders)
{
	struct printing_plan *printing = context;
	const struct planned_group *planned = &printing->group;
	int r = act_plan_next(printing->plan, &printing->group);

	*folders = (struct report_folders){.files = planned->files};
	for (size_t i = 0; r == 0 && i < planned->copies.count; i++) {
		if (planned->copies.list[i].fate == FATE_REDUNDANT)
			folders->reclaimable =
				size_add(folders->reclaimable, planned->names[i].reclaimable);
	}
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
