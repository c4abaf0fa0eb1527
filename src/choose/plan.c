/* SPDX-License-Identifier: MIT */
#include "choose/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/new_file.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "base/stop.h"
#include "choose/folder_tree.h"
#include "choose/rules.h"
#include "choose/selection.h"
#include "index/query.h"
#include "index/source.h"

/* ---- plan ----------------------------------------------------------------------------------- */

/* The spool has for each group this struct, then the arrays of copies and of planned names, and the
 * paths. Pointers in it are to static texts, and only this process reads the spool. */
struct plan_spooled {
	struct group_record group;
	size_t count, redundant, path_bytes;
	bool kept_must_stay;
	uint64_t files;
};

/* ---- groups --------------------------------------------------------------------------------- */

void planned_group_free(struct planned_group *group)
{
	copies_free(&group->copies);
	free(group->names);
	group->names = NULL;
	group->capacity = 0;
}

struct act_file planned_file(const struct planned_group *group, size_t index)
{
	const struct copy *copy = &group->copies.list[index];
	const struct planned_name *name = &group->names[index];

	return (struct act_file){copy->source, copy_path(&group->copies, copy), &name->attributes,
				 name->hash};
}

enum emptied_place planned_place(const struct planned_group *group, const struct sources *sources,
				 size_t index)
{
	const struct copy *copy = &group->copies.list[index];
	const char *path = copy_path(&group->copies, copy);

	return emptied_first(copy->emptied, emptied_place_of(sources->list[copy->source].path, path,
							     strlen(path)));
}

/* Returns the number of names of the inode whose first name has this index. */
static size_t count_names(const struct planned_group *group, size_t first)
{
	return copies_inode_end(&group->copies, first) - first;
}

/* Returns whether the act is on all names of an inode, or on a folder. */
static bool is_whole(const struct act_plan *plan, const struct planned_group *group, size_t first)
{
	return plan->folders || group->names[first].attributes.links <= count_names(group, first);
}

bool act_plan_frees(const struct act_plan *plan, const struct planned_group *group, size_t first)
{
	return plan->is_dedupe || is_whole(plan, group, first);
}

void planned_group_drop_spared(struct planned_group *group)
{
	struct copies *copies = &group->copies;
	size_t left = 0;

	copies->redundant = 0;
	for (size_t i = 0; i < copies->count; i++) {
		struct copy *copy = &copies->list[left];
		bool is_first;

		if (copies->list[i].fate == FATE_SPARED)
			continue;
		*copy = copies->list[i];
		group->names[left] = group->names[i];
		is_first = left == 0 || copy[-1].file != copy->file;
		copy->another_name = !is_first;
		copies->redundant += is_first && copy->fate == FATE_REDUNDANT;
		left++;
	}
	copies->count = left;
}

/* ---- the spool ------------------------------------------------------------------------------ */

int act_plan_open(struct act_plan *plan, enum act_kind kind)
{
	*plan = (struct act_plan){.is_dedupe = kind == ACT_DEDUPE};
	return spool_open_stream(&plan->spool);
}

void act_plan_free(struct act_plan *plan)
{
	if (plan->spool)
		(void)fclose(plan->spool);
	plan->spool = NULL;
}

/* Counts an inode to act upon, whose first name has this index. */
static void count_inode(struct act_plan *plan, const struct planned_group *group, size_t first)
{
	const struct planned_name *name = &group->names[first];

	plan->names += count_names(group, first);
	plan->bytes = size_add(plan->bytes, group->group.size);
	plan->split += !is_whole(plan, group, first);
	if (!act_plan_frees(plan, group, first))
		return;
	plan->freed_bytes = size_add(plan->freed_bytes, name->freed_bytes);
	plan->freed_unknown += name->freed_is_unknown;
}

static bool put(struct act_plan *plan, const void *data, size_t size)
{
	return size == 0 || fwrite(data, size, 1, plan->spool) == 1;
}

/* Copies the fields without the padding between them. */
static void copy_group_fields(struct group_record *to, const struct group_record *from)
{
	to->id = from->id;
	to->hash = from->hash;
	to->ordinal = from->ordinal;
	to->size = from->size;
	to->inodes = from->inodes;
	to->kept = from->kept;
	to->changed = from->changed;
	to->maps = from->maps;
	to->retained = from->retained;
}

int act_plan_add(struct act_plan *plan, const struct planned_group *group)
{
	const struct copies *copies = &group->copies;
	struct plan_spooled spooled;

	if (copies->redundant == 0)
		return 0;
	/* clears the padding as well, because the padding is written to the spool */
	memset(&spooled, 0, sizeof(spooled));
	copy_group_fields(&spooled.group, &group->group);
	spooled.count = copies->count;
	spooled.redundant = copies->redundant;
	spooled.path_bytes = copies->paths.length;
	spooled.kept_must_stay = copies->kept_must_stay;
	spooled.files = group->files;
	errno = EIO;
	if (!put(plan, &spooled, sizeof(spooled)) ||
	    !put(plan, copies->list, copies->count * sizeof(*copies->list)) ||
	    !put(plan, group->names, copies->count * sizeof(*group->names)) ||
	    !put(plan, copies->paths.data, copies->paths.length))
		return -errno;
	plan->groups++;
	for (size_t i = 0; i < copies->count; i++) {
		if (copies->list[i].fate == FATE_REDUNDANT && !copies->list[i].another_name)
			count_inode(plan, group, i);
	}
	return 0;
}

int act_plan_rewind(struct act_plan *plan)
{
	if (fflush(plan->spool) != 0 || fseek(plan->spool, 0, SEEK_SET) != 0)
		return -errno;
	return 0;
}

static bool get(struct act_plan *plan, void *data, size_t size)
{
	return size == 0 || fread(data, size, 1, plan->spool) == 1;
}

int act_plan_next(struct act_plan *plan, struct planned_group *group)
{
	struct copies *copies = &group->copies;
	struct plan_spooled spooled;
	int r;

	if (!get(plan, &spooled, sizeof(spooled)))
		return ferror(plan->spool) ? -EIO : -ENOENT;
	copies_clear(copies);
	r = array_reserve(&copies->list, &copies->capacity, spooled.count, sizeof(*copies->list));
	if (r == 0)
		r = array_reserve(&group->names, &group->capacity, spooled.count,
				  sizeof(*group->names));
	if (r == 0)
		r = bytes_reserve(&copies->paths, spooled.path_bytes);
	if (r < 0)
		return r;
	if (!get(plan, copies->list, spooled.count * sizeof(*copies->list)) ||
	    !get(plan, group->names, spooled.count * sizeof(*group->names)) ||
	    !get(plan, copies->paths.data, spooled.path_bytes))
		return -EIO;
	group->group = spooled.group;
	copies->count = spooled.count;
	copies->redundant = spooled.redundant;
	copies->paths.length = spooled.path_bytes;
	copies->kept_must_stay = spooled.kept_must_stay;
	copies->folders = plan->folders;
	group->files = spooled.files;
	return 0;
}

/* Writes what is left of the groups to another plan, which has the settings of the first one. */
static int sift_to(struct act_plan *plan, struct act_plan *rest, act_plan_sift_fn *decide,
		   void *context)
{
	CLEANUP_PLANNED_GROUP struct planned_group group = {0};
	int r = spool_open_stream(&rest->spool);

	while (r == 0 && (r = act_plan_next(plan, &group)) == 0) {
		r = decide(context, &group);
		if (r != 0)
			break;
		planned_group_drop_spared(&group);
		r = act_plan_add(rest, &group);
	}
	return r < 0 && r != -ENOENT ? r : act_plan_rewind(rest);
}

int act_plan_sift(struct act_plan *plan, act_plan_sift_fn *decide, void *context)
{
	struct act_plan rest = {.folders = plan->folders, .is_dedupe = plan->is_dedupe};
	int r = sift_to(plan, &rest, decide, context);

	if (r < 0) {
		act_plan_free(&rest);
		return r;
	}
	act_plan_free(plan);
	*plan = rest;
	return 0;
}

/* ---- selecting copies ----------------------------------------------------------------------- */

/* A plan of the copies that the rules select. */

struct planning {
	struct act_plan *plan;
	struct catalog_reader *reader;
	struct planned_group group;
};

/* Takes a group of the selection, and its copies. */
static int take_group(struct planned_group *planned, const struct group_record *group,
		      struct copies *copies)
{
	const struct copies before = planned->copies;
	int r = array_reserve(&planned->names, &planned->capacity, copies->count,
			      sizeof(*planned->names));

	if (r < 0)
		return r;
	memset(planned->names, 0, copies->count * sizeof(*planned->names));
	planned->group = *group;
	planned->copies = *copies;
	*copies = before;
	return 0;
}

static int plan_group(void *context, const struct group_record *group, struct copies *copies)
{
	struct planning *planning = context;
	struct planned_group *planned = &planning->group;
	int r = take_group(planned, group, copies);

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

static int select_files(struct act_plan *plan, const struct report *report)
{
	struct planning planning = {.plan = plan, .reader = report->reader};
	const struct visitor visitor = {.group = plan_group, .context = &planning};
	int r = selection_visit(report, &visitor);

	planned_group_free(&planning.group);
	return r < 0 ? r : act_plan_rewind(plan);
}

/* ---- trying --------------------------------------------------------------------------------- */

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

static int try_group(void *context, struct planned_group *group)
{
	struct trying *trying = context;

	if (stop_requested())
		return -EINTR;
	for (size_t i = 0; i < group->copies.count && !trying->is_useless; i++) {
		if (group->copies.list[i].fate != FATE_REDUNDANT)
			continue;
		try_name(trying, group, i);
		progress_update(&trying->progress, &trying->counts);
	}
	return trying->is_useless;
}

int act_plan_try(struct act_plan *plan, struct plan_trial *trial, enum progress_when when)
{
	CLEANUP_ACT_TRIAL struct act_trial *acts = NULL;
	struct trying trying = {.trial = trial, .counts = {.files_total = plan->names}};
	int r = act_trial_new(&acts, trial->settings);

	if (r < 0)
		return r;
	trying.acts = acts;
	progress_start(&trying.progress, when, "checking");
	r = act_plan_sift(plan, try_group, &trying);
	progress_end(&trying.progress, &trying.counts);
	return r;
}

/* ---- selecting folders ---------------------------------------------------------------------- */

/* A plan of the folders that the rules select. */

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

/* ---- the order ------------------------------------------------------------------------------ */

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

static int note_group(void *context, const struct group_record *group, struct copies *copies)
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

/* ---- folders in and above other folders ----------------------------------------------------- */

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

/* ---- one group ------------------------------------------------------------------------------ */

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

static int plan_folders(struct folder_planning *planning, const struct selected_folder *selected)
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

static int select_folders(struct act_plan *plan, const struct report *report)
{
	CLEANUP(planning_free) struct folder_planning planning = {.plan = plan, .report = report};
	const struct visitor visitor = {.group = note_group, .context = &planning};
	int r = selection_visit(report, &visitor);

	plan->folders = true;
	if (r == 0 && planning.count > 1)
		qsort(planning.list, planning.count, sizeof(*planning.list), compare_selected);
	for (size_t i = 0; r == 0 && i < planning.count; i++)
		r = stop_requested() ? -EINTR : plan_folders(&planning, &planning.list[i]);
	return r < 0 ? r : act_plan_rewind(plan);
}

int act_plan_select(struct act_plan *plan, const struct report *report)
{
	return report->folders ? select_folders(plan, report) : select_files(plan, report);
}

/* ---- printing ------------------------------------------------------------------------------- */

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
