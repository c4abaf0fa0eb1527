/* SPDX-License-Identifier: MIT */

/* A plan of the copies that the rules select. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "catalog/query.h"
#include "plan/plan.h"
#include "report/selection.h"

struct planning {
	struct act_plan *plan;
	struct catalog_reader *reader;
	struct planned_group group;
};

/* Copies a group of the selection. */
static int copy_group(struct planning *planning, const struct group_record *group,
		      const struct copies *copies)
{
	struct planned_group *to = &planning->group;
	int r;

	copies_clear(&to->copies);
	r = array_reserve(&to->copies.list, &to->copies.capacity, copies->count,
			  sizeof(*copies->list));
	if (r == 0)
		r = array_reserve(&to->names, &to->capacity, copies->count, sizeof(*to->names));
	if (r == 0)
		r = bytes_append(&to->copies.paths, copies->paths.data, copies->paths.length);
	if (r < 0)
		return r;
	to->group = *group;
	memcpy(to->copies.list, copies->list, copies->count * sizeof(*copies->list));
	memset(to->names, 0, copies->count * sizeof(*to->names));
	to->copies.count = copies->count;
	to->copies.kept_must_stay = copies->kept_must_stay;
	return 0;
}

static int plan_group(void *context, const struct group_record *group, const struct copies *copies)
{
	struct planning *planning = context;
	struct planned_group *planned = &planning->group;
	int r = copy_group(planning, group, copies);

	if (r < 0)
		return r;
	planned_group_drop_spared(planned);
	for (size_t i = 0; r == 0 && i < planned->copies.count; i++) {
		struct file_record file;

		/* clears the padding as well */
		memset(&file, 0, sizeof(file));
		r = catalog_get_file(planning->reader, planned->copies.list[i].file, &file);
		planned->names[i].attributes = file.attributes;
		planned->names[i].hash = group->hash;
	}
	if (r == -ENOENT)
		return -EUCLEAN;
	return r < 0 ? r : act_plan_add(planning->plan, planned);
}

int act_plan_select(struct act_plan *plan, const struct report *report)
{
	struct planning planning = {.plan = plan, .reader = report->reader};
	const struct visitor visitor = {.group = plan_group, .context = &planning};
	int r = selection_groups(report, &visitor);

	planned_group_free(&planning.group);
	return r < 0 ? r : act_plan_rewind(plan);
}
