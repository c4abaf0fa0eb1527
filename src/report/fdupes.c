/* SPDX-License-Identifier: MIT */

/* The format of fdupes and jdupes: one path a line, an empty line between groups. Names are written
 * as exact bytes. Only on a terminal, odd characters are quoted. What an act would do is marked as
 * by 'fdupes -d': [+] stays, [-] goes. */

#include <inttypes.h>

#include "report/format.h"

static void fdupes_begin_item(struct printing *printing, const struct item *item)
{
	if (item->is_group && printing->items > 0)
		output_text(printing->output, "\n");
}

static int fdupes_name(struct printing *printing, const struct item *item, const struct copy *name)
{
	int r = format_path(printing, printing->report->shown[name->source], item->copies, name);

	if (r < 0)
		return r;
	if (printing->report->part == REPORT_PLANNED)
		output_text(printing->output, name->fate == FATE_KEPT ? "   [+] " : "   [-] ");
	output_name(printing->output, printing->path.data, printing->path.length);
	output_text(printing->output, "\n");
	return 0;
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
