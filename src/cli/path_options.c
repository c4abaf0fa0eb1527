/* SPDX-License-Identifier: MIT */
#include "cli/path_options.h"

#include "options/common_options.h"

enum {
	OPT_NULL = OPTION_ID_OWN,
};

const struct option_spec path_options[] = {
	{.heading = "Output"},
	{
		.name = "null",
		.letter = '0',
		.help = "end each path with a NUL instead of a newline",
		.id = OPT_NULL,
	},
	{0},
};

int path_apply(void *context, int id, const char *value)
{
	struct path_settings *settings = context;

	if (id != OPT_NULL)
		return common_apply(&settings->common, id, value);
	settings->ending = PATH_NULS;
	return 0;
}
