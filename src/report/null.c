/* SPDX-License-Identifier: MIT */

/* The format for xargs -0 and similar programs: the exact bytes of each path, followed by a NUL. On
 * a terminal, odd characters are quoted. Paths are absolute, so that no program parses a path as an
 * option.
 */

#include "report/format.h"

static int print_path(struct printing *printing, const struct copies *copies,
		      const struct copy *copy)
{
	int r = format_absolute_path(printing, copies, copy);

	if (r < 0)
		return r;
	output_name(printing->output, printing->path.data, printing->path.length);
	output_bytes(printing->output, "", 1);
	return 0;
}

static int null_group(struct printing *printing, const struct group_record *group,
		      const struct copies *copies)
{
	int r = 0;

	(void)group;
	for (size_t i = 0; r == 0 && i < copies->count; i++) {
		if (format_shows(printing, &copies->list[i]))
			r = print_path(printing, copies, &copies->list[i]);
	}
	return r;
}

static int null_single(struct printing *printing, const struct single *single,
		       const struct copy *name)
{
	return print_path(printing, single->names, name);
}

const struct format format_null = {
	.group = null_group,
	.single = null_single,
};
