/* SPDX-License-Identifier: MIT */
#include "plan/try.h"

#include <errno.h>

#include "act/act.h"
#include "base/human_text.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/stop.h"
#include "source/source.h"

struct trying {
	struct plan_trial *trial;
	struct act_trial *acts;
	struct progress progress;
	struct progress_counts counts;
	bool is_useless; /* all remaining copies would be refused for the same cause */
};

/* Logs how the metadata in a folder differ from those in the kept one, and how many of its files
 * are hard links to those of the kept one. */
static void explain_differences(const struct refusals *refusals, const struct act_file *copy,
				const struct act_folder *folder)
{
	const struct act_differences *differences = &folder->differences;
	char owners[NUMBER_TEXT_MAX], modes[NUMBER_TEXT_MAX], xattrs[NUMBER_TEXT_MAX];
	char times[NUMBER_TEXT_MAX];
	CLEANUP_BYTES struct bytes path = {0};

	if (source_absolute_path(refusals->sources, copy->source, copy->path, &path) < 0 ||
	    !bytes_text(&path))
		return;
	if (differences->owners + differences->modes + differences->xattrs + differences->times > 0)
		log_info("%s differs from the kept folder, which stays as it is: names with "
			 "another owner: %s, mode: %s, extended attributes: %s, time: %s",
			 quote_path(bytes_text(&path)), number_format(owners, differences->owners),
			 number_format(modes, differences->modes),
			 number_format(xattrs, differences->xattrs),
			 number_format(times, differences->times));
	if (folder->linked > 0)
		log_info("%s has %s hard %s to files of the kept folder; removing them frees "
			 "nothing",
			 quote_path(bytes_text(&path)), number_format(times, folder->linked),
			 plural(folder->linked, "link", "links"));
}

/* Tries the act on one name. Spares it if the act would not be done. */
static void try_name(struct trying *trying, struct planned_group *group, size_t index)
{
	const struct act_file kept = planned_file(group, 0), copy = planned_file(group, index);
	struct refusals *refusals = &trying->trial->refusals;
	struct act_result result;

	if (group->copies.folders)
		act_try_folder(trying->acts, &kept, &copy, &result);
	else
		act_try(trying->acts, &kept, &copy, &result);
	trying->counts.files_done++;
	group->names[index].freed_bytes = result.freed_bytes;
	group->names[index].freed_is_unknown = result.freed_is_unknown;
	if (result.outcome == ACT_DONE) {
		if (group->copies.folders)
			explain_differences(refusals, &copy, &result.folder);
		return;
	}
	group->copies.list[index].fate = FATE_SPARED;
	if (!act_is_refused(result.outcome)) {
		trying->trial->needless++;
		return;
	}
	refusals_add(refusals, &copy, &result);
	trying->is_useless = refusals_concern_all(refusals, &result);
	if (trying->is_useless)
		refusals_add_rest(refusals, &result,
				  trying->counts.files_total - trying->counts.files_done);
}

static void try_group(struct trying *trying, struct planned_group *group)
{
	for (size_t i = 0; i < group->copies.count && !trying->is_useless; i++) {
		if (group->copies.list[i].fate != FATE_REDUNDANT)
			continue;
		try_name(trying, group, i);
		progress_update(&trying->progress, &trying->counts);
	}
	planned_group_drop_spared(group);
}

static int try_all(struct trying *trying, struct act_plan *plan, struct act_plan *possible)
{
	CLEANUP_PLANNED_GROUP struct planned_group group = {0};
	int r = 0;

	while (!trying->is_useless && (r = act_plan_next(plan, &group)) == 0) {
		if (stop_requested())
			return -EINTR;
		try_group(trying, &group);
		r = trying->is_useless ? 0 : act_plan_add(possible, &group);
		if (r < 0)
			return r;
	}
	return r == -ENOENT ? 0 : r;
}

int act_plan_try(struct act_plan *plan, struct act_plan *possible, struct plan_trial *trial,
		 enum progress_when when)
{
	CLEANUP_ACT_TRIAL struct act_trial *acts = NULL;
	struct trying trying = {.trial = trial, .counts = {.files_total = plan->names}};
	int r = act_trial_new(&acts, trial->settings);

	if (r < 0)
		return r;
	trying.acts = acts;
	progress_start(&trying.progress, when, "checking");
	r = try_all(&trying, plan, possible);
	progress_end(&trying.progress, &trying.counts);
	if (r == 0)
		r = act_plan_rewind(plan);
	return r < 0 ? r : act_plan_rewind(possible);
}
