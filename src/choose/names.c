/* SPDX-License-Identifier: MIT */

/* The formats that print names only. Names are written as exact bytes. Only on a terminal, odd
 * characters are quoted. What an act would do is marked.
 *
 * fdupes: as fdupes and jdupes print, one path a line, an empty line between groups. The marks are
 * those of 'fdupes -d': [+] stays, [-] goes.
 *
 * null: for xargs -0 and similar programs, each path followed by a NUL. Paths are absolute, so that
 * no program parses a path as an option. '+' precedes the path of a file that stays, '-' that of
 * one that goes. */
#include <inttypes.h>

#include "choose/format.h"

/* Prints printing->path.
 *
 * marks	before the name of a plan that stays, and before one that goes
 * end		one byte */
static void print_path(struct printing *printing, const struct copy *name,
		       const char *const marks[static 2], const char *end)
{
	if (printing->report->part == REPORT_PLANNED)
		output_text(printing->output, marks[name->fate != FATE_KEPT]);
	output_name(printing->output, printing->path.data, printing->path.length);
	output_bytes(printing->output, end, 1);
}

/* ---- fdupes --------------------------------------------------------------------------------- */

static void fdupes_begin_item(struct printing *printing, const struct item *item)
{
	if (item->is_group && printing->items > 0)
		output_text(printing->output, "\n");
}

static int fdupes_name(struct printing *printing, const struct item *item, const struct copy *name)
{
	static const char *const marks[] = {"   [+] ", "   [-] "};
	int r = format_path(printing, printing->report->shown[name->source], item->copies, name);

	if (r == 0)
		print_path(printing, name, marks, "\n");
	return r;
}

static int fdupes_end(struct printing *printing)
{
	const struct report_summary *summary = &printing->summary;

	if (printing->report->part != REPORT_SUMMARY)
		return 0;
	if (printing->report->folders)
		output_format(printing->output,
			      "%" PRIu64 " duplicate folders (in %" PRIu64
			      " sets), occupying %" PRIu64 " bytes\n",
			      summary->redundant_folders, summary->groups,
			      summary->reclaimable_bytes);
	else
		output_format(printing->output,
			      "%" PRIu64 " duplicate files (in %" PRIu64
			      " sets), occupying %" PRIu64 " bytes\n",
			      summary->redundant_files, summary->groups, summary->redundant_bytes);
	return 0;
}

const struct format format_fdupes = {
	.begin_item = fdupes_begin_item,
	.name = fdupes_name,
	.end = fdupes_end,
	.can_summarize = true,
};

/* ---- null ----------------------------------------------------------------------------------- */

static int null_name(struct printing *printing, const struct item *item, const struct copy *name)
{
	static const char *const marks[] = {"+", "-"};
	int r = format_absolute_path(printing, item->copies, name);

	if (r == 0)
		print_path(printing, name, marks, "");
	return r;
}

static int null_pair(struct printing *printing, const struct similar_pair *pair)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(pair->folders); i++) {
		r = format_folder(printing, &pair->folders[i], false);
		if (r < 0)
			break;
		output_name(printing->output, printing->path.data, printing->path.length);
		output_bytes(printing->output, "", 1);
	}
	return r;
}

const struct format format_null = {
	.name = null_name,
	.pair = null_pair,
};
