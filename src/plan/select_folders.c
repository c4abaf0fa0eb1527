/* SPDX-License-Identifier: MIT */

/* A plan of the folders that the rules select. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "catalog/query.h"
#include "plan/number_set.h"
#include "plan/plan.h"
#include "report/bundle.h"
#include "report/collect.h"
#include "report/folder_tree.h"
#include "report/rules.h"
#include "report/selection.h"

/* A folder group that is selected. */
struct selected_folder {
	uint64_t group;
	uint64_t bytes; /* of one folder */
	size_t depth; /* largest number of slashes in a path of its folders */
};

struct folder_planning {
	struct act_plan *plan;
	const struct report *report;
	struct collector collector;
	struct planned_group group; /* the current one */
	struct selected_folder *list;
	size_t count, capacity;
	/* ids of folders that are in the plan, and of the folders above those that are kept */
	struct number_set going, kept, above_kept;
	int error; /* the first failure in a callback, -errno */
};

static void planning_free(struct folder_planning *planning)
{
	collector_free(&planning->collector);
	planned_group_free(&planning->group);
	free(planning->list);
	number_set_free(&planning->going);
	number_set_free(&planning->kept);
	number_set_free(&planning->above_kept);
}

/* ---- the order ---------------------------------------------------------------------------- */

static size_t find_depth(const struct copies *copies)
{
	size_t most = 0;

	for (size_t i = 0; i < copies->count; i++) {
		size_t depth = copy_is_root(copies, &copies->list[i]) ? 0 : 1;

		for (const char *at = copy_path(copies, &copies->list[i]); *at; at++)
			depth += *at == '/';
		most = depth > most ? depth : most;
	}
	return most;
}

static int note_group(void *context, const struct group_record *group, const struct copies *copies)
{
	struct folder_planning *planning = context;
	int r = array_reserve(&planning->list, &planning->capacity, planning->count + 1,
			      sizeof(*planning->list));

	if (r == 0)
		planning->list[planning->count++] =
			(struct selected_folder){group->id, group->size, find_depth(copies)};
	return r;
}

/* Orders groups so that a folder comes before all that it contains. If one group has a folder that
 * contains a folder of another group, it has at least as many bytes. If both have as many, all its
 * folders contain one of the other group, so the deepest one of that is deeper. */
static int compare_selected(const void *left, const void *right)
{
	const struct selected_folder *a = left, *b = right;
	int order = numbers_compare(b->bytes, a->bytes);

	if (order == 0)
		order = numbers_compare(a->depth, b->depth);
	return order ? order : numbers_compare(a->group, b->group);
}

/* ---- folders in and above other folders ---------------------------------------------------- */

/* Returns whether a folder or one above it is in the set. */
static bool is_in_any(struct folder_planning *planning, const struct number_set *set, uint64_t dir)
{
	struct dir_record record = {.parent = dir};
	int r = planning->error;

	while (r == 0 && record.parent != 0) {
		if (number_set_has(set, record.parent))
			return true;
		r = catalog_get_dir(planning->report->reader, record.parent, &record);
	}
	if (r < 0)
		planning->error = r == -ENOENT ? -EUCLEAN : r;
	return false;
}

static int add_above(struct folder_planning *planning, uint64_t dir)
{
	struct dir_record record = {.parent = 0};
	int r = catalog_get_dir(planning->report->reader, dir, &record);

	/* the folders above one that is in the set are in it, too */
	while (r == 0 && record.parent != 0 &&
	       (r = number_set_add(&planning->above_kept, record.parent)) > 0)
		r = catalog_get_dir(planning->report->reader, record.parent, &record);
	return r == -ENOENT ? -EUCLEAN : r;
}

static bool is_going(void *context, const struct copies *copies, const struct copy *copy)
{
	struct folder_planning *planning = context;

	(void)copies;
	return is_in_any(planning, &planning->going, copy->file);
}

static const char *why_it_stays(struct folder_planning *planning, const struct copies *copies,
				const struct copy *copy)
{
	if (copy_is_root(copies, copy))
		return "the root of a source";
	if (number_set_has(&planning->above_kept, copy->file))
		return "contains a folder that is kept";
	if (is_in_any(planning, &planning->kept, copy->file))
		return "in a folder that is kept";
	return NULL;
}

/* ---- one group ----------------------------------------------------------------------------- */

/* Reads the folders of a group that do not go already, and applies the rules to them. */
static int decide(struct folder_planning *planning, struct group_record *group)
{
	const struct report *report = planning->report;
	struct copies *copies = &planning->group.copies;
	int r = collect_copies(report, &planning->collector, group, copies);

	if (r < 0)
		return r;
	copies_remove(copies, is_going, planning);
	for (size_t i = 0; i < copies->count; i++)
		copies->list[i].must_stay = why_it_stays(planning, copies, &copies->list[i]);
	if (planning->error < 0)
		return planning->error;
	group->inodes = copies->count;
	return rules_apply(report->rules, report->sources, group, copies);
}

static int plan_folder(struct folder_planning *planning, size_t index)
{
	const struct copy *copy = &planning->group.copies.list[index];
	struct dir_record dir;
	int r;

	memset(&dir, 0, sizeof(dir)); /* clears the padding as well */
	r = catalog_get_dir(planning->report->reader, copy->file, &dir);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	planning->group.names[index].attributes = dir.attributes;
	r = number_set_add(copy->fate == FATE_REDUNDANT ? &planning->going : &planning->kept,
			   copy->file);
	if (r >= 0 && copy->fate == FATE_KEPT)
		r = add_above(planning, copy->file);
	return r < 0 ? r : 0;
}

/* Sets the tree hash of the group. */
static int describe(struct folder_planning *planning)
{
	struct group_record *group = &planning->group.group;
	int r = folder_tree_hash(planning->report->reader, planning->group.copies.list[0].file,
				 &group->hash);

	group->ordinal = r == 0;
	return r == FOLDER_TREE_UNREAD ? 0 : r;
}

static int plan_group(struct folder_planning *planning, const struct selected_folder *selected)
{
	struct planned_group *planned = &planning->group;
	struct copies *copies = &planned->copies;
	struct folder_group folders;
	int r = catalog_get_folder_group(planning->report->reader, selected->group, &folders);

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	planned->group = collect_record_of(&folders);
	planned->files = folders.files;
	r = decide(planning, &planned->group);
	if (r == 0)
		r = array_reserve(&planned->names, &planned->capacity, copies->count + 1,
				  sizeof(*planned->names));
	if (r < 0 || copies->redundant == 0)
		return r;
	memset(planned->names, 0, copies->count * sizeof(*planned->names));
	planned_group_drop_spared(planned);
	r = describe(planning);
	for (size_t i = 0; r == 0 && i < copies->count; i++)
		r = plan_folder(planning, i);
	return r < 0 ? r : act_plan_add(planning->plan, planned);
}

int act_plan_select_folders(struct act_plan *plan, const struct report *report)
{
	CLEANUP(planning_free) struct folder_planning planning = {.plan = plan, .report = report};
	const struct visitor visitor = {.group = note_group, .context = &planning};
	int r = selection_folders(report, &visitor);

	plan->folders = true;
	if (r == 0 && planning.count > 1)
		qsort(planning.list, planning.count, sizeof(*planning.list), compare_selected);
	for (size_t i = 0; r == 0 && i < planning.count; i++)
		r = stop_requested() ? -EINTR : plan_group(&planning, &planning.list[i]);
	return r < 0 ? r : act_plan_rewind(plan);
}
