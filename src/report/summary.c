/* SPDX-License-Identifier: MIT */
#include "report/summary.h"

#include <errno.h>

#include "base/size.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "report/retained.h"

static void add(struct report_summary *summary, uint64_t files, uint64_t bytes,
		uint64_t reclaimable_bytes)
{
	summary->groups++;
	summary->redundant_files += files;
	summary->redundant_bytes = size_add(summary->redundant_bytes, bytes);
	summary->reclaimable_bytes = size_add(summary->reclaimable_bytes, reclaimable_bytes);
}

void summary_add_group(struct report_summary *summary, const struct group_record *group)
{
	add(summary, group->inodes - 1, group_redundant(group), group_reclaimable(group));
}

void summary_add_copies(struct report_summary *summary, const struct group_record *group,
			const struct copies *copies)
{
	add(summary, copies->redundant, copies_redundant_bytes(copies, group),
	    copies_reclaimable_bytes(copies, group));
}

void summary_add_single(struct report_summary *summary, uint64_t size)
{
	summary->singles++;
	summary->single_bytes = size_add(summary->single_bytes, size);
}

static void put(struct summary_figure **end, const char *name, uint64_t value)
{
	*(*end)++ = (struct summary_figure){name, value};
}

static void put_covered(struct summary_figure **end, const struct report_summary *summary)
{
	const struct missing_tally *checked = &summary->checked;

	put(end, "files", checked->files);
	put(end, "bytes", checked->bytes);
	put(end, "linked", checked->linked);
	put(end, "empty", checked->empty);
	put(end, "symlinks", checked->symlinks);
	put(end, "special", checked->special);
}

size_t summary_list(const struct report_summary *summary, enum summary_of of,
		    struct summary_figure list[static SUMMARY_FIGURES_MAX])
{
	struct summary_figure *end = list;

	if (of == SUMMARY_OF_COVERED) {
		put(&end, "missing", summary->singles);
		put(&end, "missing_bytes", summary->single_bytes);
		put_covered(&end, summary);
		return (size_t)(end - list);
	}
	if (of == SUMMARY_OF_SINGLES) {
		put(&end, "singles", summary->singles);
		put(&end, "single_bytes", summary->single_bytes);
	} else if (of == SUMMARY_OF_SIMILAR) {
		put(&end, "pairs", summary->pairs);
		put(&end, "common", summary->bounds.common);
		put(&end, "deep", summary->bounds.deep);
	} else if (of == SUMMARY_OF_MISSING) {
		put(&end, "missing", summary->singles);
		put(&end, "missing_bytes", summary->single_bytes);
	} else if (of == SUMMARY_OF_FOLDERS) {
		put(&end, "groups", summary->groups);
		put(&end, "redundant_folders", summary->redundant_folders);
		put(&end, "redundant_files", summary->redundant_files);
		put(&end, "reclaimable_bytes", summary->reclaimable_bytes);
	} else {
		put(&end, "groups", summary->groups);
		put(&end, "redundant_files", summary->redundant_files);
		put(&end, "redundant_bytes", summary->redundant_bytes);
		put(&end, "reclaimable_bytes", summary->reclaimable_bytes);
	}
	put(&end, "files", summary->files);
	put(&end, "directories", summary->directories);
	put(&end, "bytes", summary->bytes);
	put(&end, "errors", summary->errors);
	put(&end, "pending", summary->pending);
	put(&end, "others", summary->others); /* last: readers of CSV can count columns */
	return (size_t)(end - list);
}

int summary_add_index(struct report_summary *summary, struct catalog_reader *reader)
{
	struct catalog_totals totals;
	int r;

	r = catalog_get_totals(reader, &totals);
	if (r < 0)
		return r;
	summary->files = totals.files;
	summary->others = totals.others;
	summary->directories = totals.directories;
	summary->bytes = size_sum_bytes(&totals.bytes);
	summary->errors = totals.errors;
	return catalog_count_pending(reader, &summary->pending, &summary->pending_bytes);
}

int report_summarize(struct catalog_reader *reader, struct report_summary *summary)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct group_record group;
	int r;

	*summary = (struct report_summary){0};
	r = catalog_scan_ranks(reader, NULL, &scan);
	if (r < 0)
		return r;
	while ((r = catalog_next_rank(scan, &group)) == 0)
		summary_add_group(summary, &group);
	return r == -ENOENT ? summary_add_index(summary, reader) : r;
}
