/* SPDX-License-Identifier: MIT */
#include "choose/figures.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"
#include "choose/copies.h"
#include "index/query.h"
#include "index/scan.h"

/* ---- counting ------------------------------------------------------------------------------- */

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

/* A figure, and the summaries that have it. */
struct summary_row {
	const char *name;
	size_t offset; /* of the value in struct report_summary */
	unsigned int of; /* bits of enum summary_of */
};

#define OF(what) (1U << SUMMARY_OF_##what)
#define OF_INDEX (OF(GROUPS) | OF(FOLDERS) | OF(SINGLES) | OF(MISSING) | OF(SIMILAR))
#define VALUE(member) offsetof(struct report_summary, member)

static const struct summary_row rows[] = {
	{"singles", VALUE(singles), OF(SINGLES)},
	{"single_bytes", VALUE(single_bytes), OF(SINGLES)},
	{"pairs", VALUE(pairs), OF(SIMILAR)},
	{"common", VALUE(bounds.common), OF(SIMILAR)},
	{"deep", VALUE(bounds.deep), OF(SIMILAR)},
	{"missing", VALUE(singles), OF(MISSING) | OF(COVERED)},
	{"missing_bytes", VALUE(single_bytes), OF(MISSING) | OF(COVERED)},
	{"groups", VALUE(groups), OF(GROUPS) | OF(FOLDERS)},
	{"redundant_folders", VALUE(redundant_folders), OF(FOLDERS)},
	{"redundant_files", VALUE(redundant_files), OF(GROUPS) | OF(FOLDERS)},
	{"redundant_bytes", VALUE(redundant_bytes), OF(GROUPS)},
	{"reclaimable_bytes", VALUE(reclaimable_bytes), OF(GROUPS) | OF(FOLDERS)},
	{"files", VALUE(checked.files), OF(COVERED)},
	{"bytes", VALUE(checked.bytes), OF(COVERED)},
	{"linked", VALUE(checked.linked), OF(COVERED)},
	{"empty", VALUE(checked.empty), OF(COVERED)},
	{"symlinks", VALUE(checked.symlinks), OF(COVERED)},
	{"special", VALUE(checked.special), OF(COVERED)},
	{"files", VALUE(files), OF_INDEX},
	{"directories", VALUE(directories), OF_INDEX},
	{"bytes", VALUE(bytes), OF_INDEX},
	{"errors", VALUE(errors), OF_INDEX},
	{"pending", VALUE(pending), OF_INDEX},
	{"others", VALUE(others), OF_INDEX}, /* last: readers of CSV can count columns */
};

size_t summary_list(const struct report_summary *summary, enum summary_of of,
		    struct summary_figure list[static SUMMARY_FIGURES_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const void *value = (const char *)summary + rows[i].offset;

		if (!(rows[i].of & 1U << of))
			continue;
		list[count].name = rows[i].name;
		memcpy(&list[count++].value, value, sizeof(uint64_t));
	}
	return count;
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

/* ---- text for people ------------------------------------------------------------------------ */

/* Below this size the text of size_format() is exact. */
#define EXACT_BELOW_BYTES 1024

#define FIGURE_TEXT_MAX 512

static void print_label(struct output *output, const char *label)
{
	output_format(output, "%-10s  ", label);
}

int figure_print_path(struct output *output, const char *label, const char *path)
{
	CLEANUP_BYTES struct bytes text = {0};
	int r;

	r = shell_name_append(&text, path, strlen(path));
	if (r < 0)
		return r;
	print_label(output, label);
	output_bytes(output, text.data, text.length);
	output_text(output, "\n");
	return 0;
}

void figure_print(struct output *output, const char *label, const char *format, ...)
{
	char text[FIGURE_TEXT_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	print_label(output, label);
	output_text(output, text);
	output_text(output, "\n");
}

const char *figure_size(char text[static FIGURE_SIZE_MAX], uint64_t bytes)
{
	char size[SIZE_TEXT_MAX];
	char exact[NUMBER_TEXT_MAX];

	if (bytes < EXACT_BELOW_BYTES)
		(void)snprintf(text, FIGURE_SIZE_MAX, "%s %s", number_format(exact, bytes),
			       plural(bytes, "byte", "bytes"));
	else
		(void)snprintf(text, FIGURE_SIZE_MAX, "%s (%s bytes)", size_format(size, bytes),
			       number_format(exact, bytes));
	return text;
}

/* Prints the files of the index and the number of groups. */
static void print_files(struct output *output, const struct report_summary *summary)
{
	char first[NUMBER_TEXT_MAX];
	char second[NUMBER_TEXT_MAX];
	char size[FIGURE_SIZE_MAX];

	figure_print(output, "files", "%s in %s %s, %s", number_format(first, summary->files),
		     number_format(second, summary->directories),
		     plural(summary->directories, "directory", "directories"),
		     figure_size(size, summary->bytes));
	if (summary->others > 0)
		figure_print(output, "others", "%s %s, which have no content to compare",
			     number_format(first, summary->others),
			     plural(summary->others, "symbolic link or special file",
				    "symbolic links and special files"));
	figure_print(output, "groups", "%s", number_format(first, summary->groups));
}

/* Prints what the index does not know. */
static void print_gaps(struct output *output, const struct report_summary *summary)
{
	char number[NUMBER_TEXT_MAX];

	figure_print(output, "pending", "%s", number_format(number, summary->pending));
	figure_print(output, "errors", "%s", number_format(number, summary->errors));
}

void figures_print(struct output *output, const struct report_summary *summary)
{
	char number[NUMBER_TEXT_MAX];
	char size[FIGURE_SIZE_MAX];

	print_files(output, summary);
	figure_print(output, "redundant", "%s %s, %s",
		     number_format(number, summary->redundant_files),
		     plural(summary->redundant_files, "file", "files"),
		     figure_size(size, summary->redundant_bytes));
	if (summary->reclaimable_bytes < summary->redundant_bytes)
		figure_print(output, "frees", "%s; the rest is holes, or other files hold it",
			     figure_size(size, summary->reclaimable_bytes));
	print_gaps(output, summary);
}

void figures_print_folders(struct output *output, const struct report_summary *summary)
{
	char folders[NUMBER_TEXT_MAX], files[NUMBER_TEXT_MAX];
	char size[FIGURE_SIZE_MAX];

	print_files(output, summary);
	figure_print(output, "redundant", "%s %s with %s %s; removing %s frees %s",
		     number_format(folders, summary->redundant_folders),
		     plural(summary->redundant_folders, "folder", "folders"),
		     number_format(files, summary->redundant_files),
		     plural(summary->redundant_files, "file", "files"),
		     plural(summary->redundant_folders, "it", "them"),
		     figure_size(size, summary->reclaimable_bytes));
	print_gaps(output, summary);
}
