/* SPDX-License-Identifier: MIT */

/* The format for xargs -0 and similar programs: the exact bytes of each path, followed by a NUL. On
 * a terminal, odd characters are quoted. Paths are absolute, so that no program parses a path as an
 * option. What an act would do is marked: '+' precedes the path of a file that stays, '-' that of
 * one that goes.
 */

#include "report/format.h"

static int null_name(struct printing *printing, const struct item *item, const struct copy *name)
{
	int r = format_absolute_path(printing, item->copies, name);

	if (r < 0)
		return r;
	if (printing->report->part == REPORT_PLANNED)
		output_text(printing->output, name->fate == FATE_KEPT ? "+" : "-");
	output_name(printing->output, printing->path.data, printing->path.length);
	output_bytes(printing->output, "", 1);
	return 0;
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
