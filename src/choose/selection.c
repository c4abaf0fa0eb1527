/* SPDX-License-Identifier: MIT */
#include "choose/selection.h"

#include <errno.h>

#include "base/stop.h"
#include "choose/bundle.h"
#include "choose/copies.h"
#include "choose/filter.h"
#include "choose/folder_tree.h"
#include "choose/missing.h"
#include "choose/report.h"
#include "choose/rules.h"
#include "choose/sorter.h"
#include "choose/stays.h"
#include "choose/symlinks.h"
#include "index/query.h"
#include "index/scan.h"

/* ---- the copies of a group ------------------------------------------------------------------ */

/* Reads the folders of a group, without those that have excluded names. */
static int read_folders(const struct report *report, uint64_t group, struct copies *copies)
{
	struct folder_group folders;
	int r = catalog_get_folder_group(report->reader, group, &folders);

	if (r == 0)
		r = copies_collect_folders(copies, report->reader, &folders);
	if (r == 0)
		r = folder_tree_remove_mounts(report->reader, copies);
	if (r == 0 && filter_excludes(report->filter))
		r = folder_tree_remove_excluded(report->reader, report->filter, copies);
	return r == -ENOENT ? -EUCLEAN : r;
}

static int collect_folders(const struct report *report, uint64_t group, struct copies *copies)
{
	bool implied = false;
	int r = read_folders(report, group, copies);

	if (r == 0 && !report->implied)
		r = folder_tree_is_implied(report->reader, report->filter, copies, &implied);
	if (r == 0 && implied)
		copies_clear(copies);
	return r < 0 ? r : folder_tree_set_times(report->reader, copies);
}

/* Reads the names of a group, without excluded names. */
static int collect_files(const struct report *report, const struct group_record *group,
			 struct copies *copies)
{
	int r = copies_collect(copies, report->reader, group);

	if (r == 0)
		filter_remove_excluded(report->filter, copies);
	return r;
}

static int find_bundles(const struct report *report, struct bundle_finder *bundles,
			const struct group_record *group, struct copies *copies)
{
	int r = bundles ? bundle_find_copies(bundles, report, copies, group->size) : 0;

	return r == -ENOENT ? -EUCLEAN : r;
}

void collector_free(struct collector *collector)
{
	bundle_finder_free(&collector->bundles);
	symlinks_free(collector->symlinks);
	*collector = (struct collector){.symlinks = NULL};
}

static int find_symlinks(const struct report *report, struct collector *collector,
			 struct copies *copies)
{
	int r = 0;

	if (!collector->symlinks)
		r = symlinks_new(&collector->symlinks, report->reader, report->sources,
				 report->folders);
	return r < 0 ? r : symlinks_find(collector->symlinks, copies);
}

int collect_copies(const struct report *report, struct collector *collector,
		   struct group_record *group, struct copies *copies)
{
	int r = report->folders ? collect_folders(report, group->id, copies)
				: collect_files(report, group, copies);

	if (r < 0)
		return r;
	if (report->folders || filter_excludes(report->filter))
		group->inodes = copies_count_inodes(copies);
	r = find_bundles(report, collector ? &collector->bundles : NULL, group, copies);
	if (r == 0 && collector)
		r = find_symlinks(report, collector, copies);
	if (r == 0)
		r = rules_apply(report->rules, report->sources, group, copies);
	return r < 0 || report->folders ? r : retained_find(report->reader, group, copies);
}

struct group_record collect_record_of(const struct folder_group *folders)
{
	return (struct group_record){
		.id = folders->id,
		.size = folders->bytes,
		.inodes = folders->folders,
	};
}

/* Highest number of bytes that are sorted in memory. These are the keys of 200,000 groups by size,
 * or of 60,000 groups by path. */
#define SORTER_BYTES (8UL << 20)

/* Outcome: the report has its highest number of items (report->top). */
enum {
	SELECTION_FULL = 1,
};

struct selection {
	const struct report *report;
	const struct visitor *visitor;
	struct copies copies; /* copies of the current group, or names of the current file */
	struct collector collector;
	struct missing_finder *missing; /* of a report of missing files */
	uint64_t found;
	uint64_t group; /* the last group of which excluded names were removed; 0: none */
	size_t group_inodes; /* without excluded names */
	struct sorter *sorter; /* NULL: the order of the index */
	struct bytes key; /* the current key for the sorter */
};

static void selection_free(struct selection *selection)
{
	copies_free(&selection->copies);
	collector_free(&selection->collector);
	missing_finder_free(selection->missing);
	sorter_free(selection->sorter);
	bytes_free(&selection->key);
}

/* ---- what is selected --------------------------------------------------------------------- */

static bool is_in_one_source(const struct copies *copies)
{
	for (size_t i = 1; i < copies->count; i++) {
		if (copies->list[i].source != copies->list[0].source)
			return false;
	}
	return true;
}

static bool group_is_wanted(const struct selection *selection)
{
	const struct report *report = selection->report;
	const struct copies *copies = &selection->copies;

	if (report->part == REPORT_REDUNDANT && copies->redundant == 0)
		return false;
	return !report->rules->between_sources || !is_in_one_source(copies);
}

static int collect(struct selection *selection, struct group_record *group)
{
	return collect_copies(selection->report, &selection->collector, group, &selection->copies);
}

static int count_one(struct selection *selection)
{
	selection->found++;
	return selection->found < selection->report->filter->top ? 0 : SELECTION_FULL;
}

/* Reads the copies of a group, and sets *selected to whether it is shown. */
static int select_group(struct selection *selection, struct group_record *group, bool *selected)
{
	const struct report *report = selection->report;
	int r = collect(selection, group);

	if (r == 0)
		r = filter_selects_group(report->filter, report->sources, &selection->copies,
					 selected);
	if (r == 0 && *selected && report->stays)
		r = stay_tally_add(report->stays, report, &selection->copies);
	*selected = r == 0 && *selected && group_is_wanted(selection);
	return r;
}

/* Passes the group to the visitor if it is selected. Returns 0, SELECTION_FULL or -errno. */
static int consider_group(struct selection *selection, const struct group_record *indexed)
{
	const struct visitor *visitor = selection->visitor;
	struct group_record group = *indexed;
	bool selected = false;
	int r = 0;

	if (filter_may_have(selection->report->filter, &group))
		r = select_group(selection, &group, &selected);
	if (r < 0 || !selected)
		return r;
	r = visitor->group(visitor->context, &group, &selection->copies);
	return r < 0 ? r : count_one(selection);
}

static int load_single(struct selection *selection, uint64_t file)
{
	int r;

	copies_clear(&selection->copies);
	r = copies_add_file(&selection->copies, selection->report->reader, file, FATE_KEPT);
	if (r == 0 && selection->missing)
		r = missing_keep_names(selection->missing, &selection->copies);
	if (r < 0)
		return r;
	copies_sort(&selection->copies);
	filter_remove_excluded(selection->report->filter, &selection->copies);
	return 0;
}

/* Passes the file to the visitor if it is selected. Returns 0, SELECTION_FULL or -errno. */
static int consider_single(struct selection *selection, uint64_t file, uint64_t size)
{
	const struct visitor *visitor = selection->visitor;
	const struct report *report = selection->report;
	bool selected = false;
	int r;

	r = load_single(selection, file);
	if (r == 0)
		r = filter_selects_single(report->filter, report->sources, &selection->copies,
					  &selected);
	if (r < 0 || !selected)
		return r;
	r = visitor->single(visitor->context, &(struct single){file, size, &selection->copies});
	return r < 0 ? r : count_one(selection);
}

/* ---- in another order than that of the index ---------------------------------------------- */

/* Makes a key of two numbers. Larger numbers sort first. */
static int make_number_key(struct bytes *key, uint64_t first, uint64_t second)
{
	int r;

	key->length = 0;
	r = bytes_append_number(key, ~first);
	return r < 0 ? r : bytes_append_number(key, ~second);
}

/* Makes a key of the path of the first of the current names. */
static int make_path_key(struct selection *selection)
{
	const struct copies *copies = &selection->copies;
	int r;

	selection->key.length = 0;
	if (copies->count == 0)
		return 0;
	r = bytes_append_number(&selection->key, copies->list[0].source);
	if (r < 0)
		return r;
	return bytes_append_text(&selection->key, copy_path(copies, &copies->list[0]));
}

static int add_key(struct selection *selection, uint64_t number)
{
	if (stop_requested())
		return -EINTR;
	return sorter_add(selection->sorter, selection->key.data, selection->key.length, number);
}

/* Reads the copies of a group with excluded names, and sets its figures to those of an index that
 * has no excluded names. The rules of the command have no influence on the order of an index. */
static int collect_as_indexed(struct selection *selection, struct group_record *group)
{
	struct rules rules = {
		.of_index = selection->report->rules->of_index,
		.include_bundles = true,
		.break_symlinks = true,
	};
	struct report as_indexed = *selection->report;

	as_indexed.rules = &rules;
	return collect_copies(&as_indexed, &selection->collector, group, &selection->copies);
}

static int make_reclaimable_key(struct selection *selection, struct group_record *group)
{
	uint64_t bytes;
	int r = 0;

	if (selection->report->folders) {
		r = folder_tree_reclaimable(selection->report->reader, &selection->copies, &bytes);
	} else {
		if (filter_excludes(selection->report->filter))
			r = collect_as_indexed(selection, group);
		bytes = group_reclaimable(group);
	}
	return r < 0 ? r : make_number_key(&selection->key, bytes, ~group->id);
}

static int make_group_key(struct selection *selection, struct group_record *group)
{
	switch (selection->report->order) {
	case REPORT_BY_SIZE:
		return make_number_key(&selection->key, group->size, group->inodes);
	case REPORT_BY_COUNT:
		return make_number_key(&selection->key, group->inodes, group->size);
	case REPORT_BY_PATH:
		return make_path_key(selection);
	case REPORT_BY_RECLAIMABLE:
		return make_reclaimable_key(selection, group);
	}
	return -EINVAL;
}

static int sort_group(struct selection *selection, const struct group_record *indexed)
{
	const struct report *report = selection->report;
	struct group_record group = *indexed;
	int r = 0;

	if (!filter_may_have(report->filter, &group))
		return 0;
	if (report->order == REPORT_BY_PATH ||
	    (report->order != REPORT_BY_RECLAIMABLE && filter_excludes(report->filter)))
		r = collect(selection, &group);
	if (r == 0)
		r = make_group_key(selection, &group);
	return r < 0 ? r : add_key(selection, group.id);
}

static int sort_single(struct selection *selection, uint64_t file, uint64_t size)
{
	int r;

	if (selection->report->order == REPORT_BY_SIZE) {
		r = make_number_key(&selection->key, size, 0);
	} else {
		r = load_single(selection, file);
		if (r == 0)
			r = make_path_key(selection);
	}
	return r < 0 ? r : add_key(selection, file);
}

typedef int scan_fn(struct selection *selection);
typedef int consider_fn(struct selection *selection, uint64_t id);

static int take_sorted(struct selection *selection, consider_fn *consider)
{
	uint64_t id;
	int r = sorter_finish(selection->sorter);

	while (r == 0) {
		r = sorter_next(selection->sorter, &id);
		if (r == -ENOENT)
			return 0;
		if (r == 0)
			r = consider(selection, id);
	}
	return r;
}

/* ---- groups ------------------------------------------------------------------------------- */

/* Reads all groups in the order of the index. Passes each group to the sorter, or to the visitor if
 * there is no sorter. */
static int scan_groups(struct selection *selection)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct group_record group;
	int r;

	r = catalog_scan_ranks(selection->report->reader, NULL, &scan);
	if (r < 0)
		return r;
	while ((r = catalog_next_rank(scan, &group)) == 0) {
		r = selection->sorter ? sort_group(selection, &group)
				      : consider_group(selection, &group);
		if (r != 0)
			return r;
	}
	return r == -ENOENT ? 0 : r;
}

static int consider_sorted_group(struct selection *selection, uint64_t id)
{
	struct group_record group;
	int r = catalog_get_group(selection->report->reader, id, &group);

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	return consider_group(selection, &group);
}

/* ---- groups of folders -------------------------------------------------------------------- */

static int sort_folders(struct selection *selection, const struct folder_group *folders)
{
	const struct report *report = selection->report;
	struct group_record group = collect_record_of(folders);
	bool selected = false;
	int r;

	/* folders without content are not reported */
	if (folders->bytes == 0 || !filter_may_have(report->filter, &group))
		return 0;
	r = collect(selection, &group);
	if (r == 0)
		r = filter_selects_group(report->filter, report->sources, &selection->copies,
					 &selected);
	if (r < 0 || !selected)
		return r;
	r = make_group_key(selection, &group);
	return r < 0 ? r : add_key(selection, group.id);
}

static int scan_folders(struct selection *selection)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct folder_group folders;
	int r = catalog_scan_folder_groups(selection->report->reader, 0, &scan);

	while (r == 0 && (r = catalog_next_folder_group(scan, &folders)) == 0)
		r = sort_folders(selection, &folders);
	return r == -ENOENT ? 0 : r;
}

static int consider_sorted_folders(struct selection *selection, uint64_t id)
{
	struct folder_group folders;
	struct group_record group;
	int r = catalog_get_folder_group(selection->report->reader, id, &folders);

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	group = collect_record_of(&folders);
	return consider_group(selection, &group);
}

/* ---- files without a copy ----------------------------------------------------------------- */

/* Sets *alone to whether all copies of a group but one have excluded names only. The members of a
 * group follow each other, so its names are read once. */
static int is_left_alone(struct selection *selection, const struct group_record *group, bool *alone)
{
	int r = 0;

	if (selection->group != group->id) {
		r = copies_collect(&selection->copies, selection->report->reader, group);
		if (r == 0)
			filter_remove_excluded(selection->report->filter, &selection->copies);
		selection->group = group->id;
		selection->group_inodes = copies_count_inodes(&selection->copies);
	}
	*alone = selection->group_inodes < 2;
	return r;
}

/* Sets *alone to whether a file is known to have no copy, although other files have the same size.
 * For a file that was not read, sets *alone to false. */
static int has_no_copy(struct selection *selection, uint64_t file, bool *alone)
{
	struct catalog_reader *reader = selection->report->reader;
	struct content_record content;
	struct group_record group = {0};
	int r;

	*alone = false;
	r = catalog_get_content(reader, file, &content);
	if (r == -ENOENT)
		return 0;
	if (r == 0 && content.group != 0)
		r = catalog_get_group(reader, content.group, &group);
	if (r < 0)
		return r;
	*alone = content.group == 0 || !group_is_visible(&group);
	if (*alone || !filter_excludes(selection->report->filter))
		return 0;
	return is_left_alone(selection, &group, alone);
}

static int select_file(struct selection *selection, const struct size_entry *entry)
{
	return selection->sorter ? sort_single(selection, entry->file, entry->size)
				 : consider_single(selection, entry->file, entry->size);
}

/* Selects a file if it has no copy. shared: another file has the same size. */
static int judge_file(struct selection *selection, const struct size_entry *entry, bool shared)
{
	bool alone = true;
	int r = 0;

	if (shared)
		r = has_no_copy(selection, entry->file, &alone);
	return r < 0 || !alone ? r : select_file(selection, entry);
}

static int scan_singles(struct selection *selection)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	const struct filter *filter = selection->report->filter;
	struct size_entry from = {.size = filter->min_size};
	struct size_entry entry;
	struct size_entry next;
	bool shared = false;
	int found;
	int r;

	r = catalog_scan_sizes(selection->report->reader, &from, &scan);
	if (r < 0)
		return r;
	for (found = catalog_next_size(scan, &entry); found == 0 && entry.size <= filter->max_size;
	     entry = next) {
		bool same;

		found = catalog_next_size(scan, &next);
		same = found == 0 && next.size == entry.size;
		r = judge_file(selection, &entry, shared || same);
		if (r != 0)
			return r;
		shared = same;
	}
	return found == -ENOENT ? 0 : found;
}

static int scan_missing_contents(struct selection *selection)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	const struct report *report = selection->report;
	struct size_entry from = {.size = report->filter->min_size};
	struct size_entry entry;
	bool missing;
	int r = catalog_scan_sizes(report->reader, &from, &scan);

	while (r == 0 && (r = catalog_next_size(scan, &entry)) == 0 &&
	       entry.size <= report->filter->max_size) {
		r = missing_find(selection->missing, &entry, selection->visitor->checked, &missing);
		if (r == 0 && missing)
			r = select_file(selection, &entry);
		if (r == -ENOENT)
			return -EUCLEAN;
	}
	return r == -ENOENT ? 0 : r;
}

static int scan_missing_others(struct selection *selection)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	bool missing;
	int r = catalog_scan_files(selection->report->reader, 0, &scan);

	while (r == 0 && (r = catalog_next_file(scan, &file)) == 0) {
		if (file.names == 0 || (S_ISREG(file.attributes.mode) && file.attributes.size > 0))
			continue;
		r = missing_find_other(selection->missing, &file, selection->visitor->checked,
				       &missing);
		if (r == 0 && missing)
			r = select_file(selection, &(struct size_entry){.file = file.id});
		if (r == -ENOENT)
			return -EUCLEAN;
	}
	return r == -ENOENT ? 0 : r;
}

static int scan_missing(struct selection *selection)
{
	int r = scan_missing_contents(selection);

	if (r == 0 && selection->report->missing->others != MISSING_SKIP_OTHERS)
		r = scan_missing_others(selection);
	return r;
}

static int consider_sorted_single(struct selection *selection, uint64_t id)
{
	struct file_record file;
	int r = catalog_get_file(selection->report->reader, id, &file);

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	return consider_single(selection, id, file.attributes.size);
}

/* ---- all ------------------------------------------------------------------------------------ */

static scan_fn *find_scan(const struct report *report)
{
	if (report->folders)
		return scan_folders;
	if (report->part == REPORT_MISSING)
		return scan_missing;
	return report->part == REPORT_SINGLES ? scan_singles : scan_groups;
}

/* Returns whether the order of the report differs from that of the index. Without excluded names,
 * groups have other reclaimable bytes than in the index. */
static bool has_own_order(const struct report *report)
{
	return report->folders || report->order != REPORT_BY_RECLAIMABLE ||
	       (report_has_groups(report->part) && filter_excludes(report->filter));
}

int selection_visit(const struct report *report, const struct visitor *visitor)
{
	CLEANUP(selection_free)
	struct selection selection = {.report = report, .visitor = visitor};
	consider_fn *consider = report->folders                   ? consider_sorted_folders
				: report_has_groups(report->part) ? consider_sorted_group
								  : consider_sorted_single;
	bool sorts = has_own_order(report);
	int r = sorts ? sorter_new(&selection.sorter, SORTER_BYTES) : 0;

	if (r == 0 && report->part == REPORT_MISSING)
		r = missing_finder_new(&selection.missing, report);
	if (r == 0)
		r = find_scan(report)(&selection);
	if (r == 0 && sorts)
		r = take_sorted(&selection, consider);
	return r == SELECTION_FULL ? 0 : r;
}
