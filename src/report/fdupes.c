/* SPDX-License-Identifier: MIT */

/* The format of fdupes and jdupes: one path a line, an empty line between groups. Names are written
 * as exact bytes. Only on a terminal, odd characters are quoted. */

#include <inttypes.h>

#include "report/format.h"

static int print_path(struct printing *printing, const struct copies *copies,
		      const struct copy *copy)
{
	int r = format_path(printing, printing->report->shown[copy->source], copies, copy);

	if (r < 0)
		return r;
	output_name(printing->output, printing->path.data, printing->path.length);
	output_text(printing->output, "\n");
	return 0;
}

static int fdupes_group(struct printing *printing, const struct group_record *group,
			const struct copies *copies)
{
	int r = 0;

	(void)group;
	if (printing->printed > 0)
		output_text(printing->output, "\n");
	for (size_t i = 0; r == 0 && i < copies->count; i++) {
		if (format_shows(printing, &copies->list[i]))
			r = print_path(printing, copies, &copies->list[i]);
	}
	return r;
}

static int fdupes_single(struct printing *printing, const struct single *single,
			 const struct copy *name)
{
	return print_path(printing, single->names, name);
}

static int fdupes_end(struct printing *printing)
{
	const struct report_summary *summary = &printing->summary;

	if (printing->report->part == REPORT_SUMMARY)
		output_format(printing->output,
			      "%" PRIu64 " duplicate files (in %" PRIu64
			      " sets), occupying %" PRIu64 " bytes\n",
			      summary->redundant_files, summary->groups, summary->redundant_bytes);
	return 0;
}

const struct format format_fdupes = {
	.group = fdupes_group,
	.single = fdupes_single,
	.end = fdupes_end,
	.can_summarize = true,
};
