/* SPDX-License-Identifier: MIT */
#include "choose/report.h"

#include <errno.h>

#include "base/stop.h"
#include "choose/copies.h"
#include "choose/folder_tree.h"
#include "choose/format.h"
#include "choose/selection.h"
#include "index/query.h"

bool report_can_summarize(enum report_format format)
{
	return format_of(format)->can_summarize;
}

bool report_can_explain(enum report_format format)
{
	return format_of(format)->can_explain;
}

bool report_can_pair(enum report_format format)
{
	return !!format_of(format)->pair;
}

/* Returns 0, -EINTR if a stop was requested, or the failure of the output. */
static int check_stop(const struct printing *printing)
{
	return stop_requested() ? -EINTR : printing->output->error;
}

/* Returns whether the selected part of the report shows this name. */
static bool is_shown(const struct report *report, const struct copy *name)
{
	return report->part != REPORT_REDUNDANT || name->fate == FATE_REDUNDANT;
}

static int print_item(struct printing *printing, const struct item *item)
{
	const struct format *format = format_of(printing->report->format);
	int r = 0;

	printing->names = 0;
	if (format->begin_item)
		format->begin_item(printing, item);
	for (size_t i = 0; r == 0 && i < item->copies->count; i++) {
		const struct copy *name = &item->copies->list[i];

		if (!is_shown(printing->report, name))
			continue;
		r = format->name(printing, item, name);
		printing->names++;
	}
	if (r == 0 && format->end_item)
		format->end_item(printing, item);
	printing->items++;
	return r < 0 ? r : check_stop(printing);
}

static struct item make_item(const struct group_record *group, const struct copies *copies)
{
	return (struct item){
		.is_group = true,
		.size = group->size,
		.copies = copies,
		.inodes = group->inodes,
		.redundant = copies_redundant_bytes(copies, group),
	};
}

static int print_group(struct printing *printing, const struct group_record *group,
		       const struct copies *copies)
{
	struct item item = make_item(group, copies);

	summary_add_copies(&printing->summary, group, copies);
	if (printing->report->part == REPORT_SUMMARY)
		return check_stop(printing);
	item.reclaimable = copies_reclaimable_bytes(copies, group);
	group_name_make(item.name, group->hash, group->ordinal);
	return print_item(printing, &item);
}

/* Sets what the index does not have: the hash and the reclaimable bytes. */
static int describe_folders(const struct printing *printing, struct item *item, uint64_t group)
{
	struct catalog_reader *reader = printing->report->reader;
	struct folder_group folders;
	struct hash128 hash;
	int r = catalog_get_folder_group(reader, group, &folders);

	if (r == 0)
		r = folder_tree_reclaimable(reader, item->copies, &item->reclaimable);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	item->files = folders.files;
	r = folder_tree_hash(reader, item->copies->list[0].file, &hash);
	if (r == 0)
		group_name_make(item->name, hash, 1);
	return r == FOLDER_TREE_UNREAD ? 0 : r;
}

static int print_folders(struct printing *printing, const struct group_record *group,
			 const struct copies *copies)
{
	struct item item = make_item(group, copies);
	int r = 0;

	if (format_of(printing->report->format)->describes_groups)
		r = describe_folders(printing, &item, group->id);
	return r < 0 ? r : print_item(printing, &item);
}

/* Returns whether the report prints the figures of folder groups, which take time. */
static bool needs_whole_copies(const struct report *report)
{
	return report->folders &&
	       (report->part == REPORT_SUMMARY || format_of(report->format)->has_figures);
}

static int visit_folders(struct printing *printing, const struct group_record *group,
			 const struct copies *copies)
{
	const struct report *report = printing->report;
	int r = 0;

	printing->summary.groups++;
	if (needs_whole_copies(report))
		r = folder_count_add_whole(&printing->whole, report->reader, report->filter,
					   copies);
	if (r < 0)
		return r;
	return report->part == REPORT_SUMMARY ? check_stop(printing)
					      : print_folders(printing, group, copies);
}

static int visit_group(void *context, const struct group_record *group, struct copies *copies)
{
	struct printing *printing = context;

	return printing->report->folders ? visit_folders(printing, group, copies)
					 : print_group(printing, group, copies);
}

static int visit_single(void *context, const struct single *single)
{
	struct printing *printing = context;

	summary_add_single(&printing->summary, single->size);
	return print_item(printing, &(struct item){.size = single->size, .copies = single->names});
}

static int visit_pair(void *context, const struct similar_pair *pair)
{
	struct printing *printing = context;
	int r = format_of(printing->report->format)->pair(printing, pair);

	printing->items++;
	printing->summary.pairs++;
	return r < 0 ? r : check_stop(printing);
}

static int select_folders(struct printing *printing, const struct visitor *visitor)
{
	struct report_summary *summary = &printing->summary;
	int r = folder_count_begin(&printing->whole);

	if (r == 0)
		r = selection_visit(printing->report, visitor);
	if (r == 0)
		r = folder_count_finish(&printing->whole, printing->report->reader,
					&summary->reclaimable_bytes);
	summary->redundant_folders = printing->whole.folders;
	summary->redundant_files = printing->whole.files;
	return r;
}

static int select_parts(struct printing *printing)
{
	const struct report *report = printing->report;
	const struct visitor visitor = {visit_group, visit_single, printing,
					&printing->summary.checked};
	const struct similar_visitor similar = {visit_pair, printing};
	int r;

	if (report->folders)
		r = select_folders(printing, &visitor);
	else if (report->part == REPORT_SIMILAR)
		r = similar_find(report, &similar, &printing->summary.bounds);
	else
		r = selection_visit(report, &visitor);
	return r < 0 ? r : summary_add_index(&printing->summary, report->reader);
}

/* Sets the reclaimable bytes of a group of folders, and counts its redundant folders. A file can
 * have names in folders of several groups, so the total is not the sum of the groups. */
static int count_fed_folders(struct printing *printing, struct item *item)
{
	struct catalog_reader *reader = printing->report->reader;
	int r = folder_tree_reclaimable(reader, item->copies, &item->reclaimable);

	return r < 0 ? r : folder_count_add_redundant(&printing->whole, reader, item->copies);
}

static int print_fed_folders(struct printing *printing, const struct group_record *group,
			     const struct copies *copies, uint64_t files)
{
	struct report_summary *summary = &printing->summary;
	struct item item = make_item(group, copies);
	int r = 0;

	item.files = files;
	if (format_of(printing->report->format)->describes_groups)
		r = count_fed_folders(printing, &item);
	if (group->ordinal > 0)
		group_name_make(item.name, group->hash, group->ordinal);
	summary->groups++;
	summary->redundant_folders += copies->redundant;
	summary->redundant_files += copies->redundant * files;
	return r < 0 ? r : print_item(printing, &item);
}

static int print_fed_groups(struct printing *printing, const struct report_feed *feed)
{
	const struct group_record *group;
	const struct copies *copies;
	uint64_t files = 0;
	int r;

	while ((r = feed->next(feed->context, &group, &copies, &files)) == 0) {
		r = printing->report->folders ? print_fed_folders(printing, group, copies, files)
					      : print_group(printing, group, copies);
		if (r < 0)
			return r;
	}
	return r == -ENOENT ? 0 : r;
}

static int print_fed(struct printing *printing, const struct report_feed *feed)
{
	const struct report *report = printing->report;
	int r = report->folders ? folder_count_begin(&printing->whole) : 0;

	if (r == 0)
		r = print_fed_groups(printing, feed);
	if (r == 0 && report->folders)
		r = folder_count_finish(&printing->whole, report->reader,
					&printing->summary.reclaimable_bytes);
	return r;
}

/* Prints all parts. feed is NULL if the index has the groups. */
static int print_parts(struct printing *printing, const struct report_feed *feed)
{
	const struct format *format = format_of(printing->report->format);
	int r;

	if (format->begin)
		format->begin(printing);
	r = feed ? print_fed(printing, feed) : select_parts(printing);
	return r < 0 || !format->end ? r : format->end(printing);
}

int report_print(const struct report *report, struct output *output, struct report_summary *summary)
{
	*summary = (struct report_summary){0};
	return report_print_feed(report, NULL, output, summary);
}

int report_print_feed(const struct report *report, const struct report_feed *feed,
		      struct output *output, struct report_summary *summary)
{
	struct printing printing = {.report = report, .output = output, .summary = *summary};
	int r = print_parts(&printing, feed);

	folder_count_free(&printing.whole);
	bytes_free(&printing.path);
	*summary = printing.summary;
	return r < 0 ? r : output_flush(output);
}
