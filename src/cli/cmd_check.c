/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "cli/check.h"
#include "cli/command.h"
#include "cli/common_options.h"

enum {
	OPT_QUICK = OPTION_ID_OWN,
	OPT_REPAIR,
};

struct check_command {
	struct common_settings common;
	struct check_settings check;
};

static void check_command_deinit(struct check_command *command)
{
	common_settings_deinit(&command->common);
}

static const struct option_spec check_options[] = {
	{.heading = "Checking"},
	{
		.name = "quick",
		.help = "check only the index itself, names and attributes; read no file",
		.id = OPT_QUICK,
	},
	{
		.name = "repair",
		.help = "then bring the index up to date, or rebuild it if it is damaged",
		.id = OPT_REPAIR,
	},
	{0},
};

static int check_apply(void *context, int id, const char *value)
{
	struct check_command *settings = context;

	switch (id) {
	case OPT_QUICK:
		settings->check.quick = true;
		return 0;
	case OPT_REPAIR:
		settings->check.repair = true;
		return 0;
	default:
		return common_apply(&settings->common, id, value);
	}
}

static const struct option_table check_table = {
	.command = "twinfs check",
	.usage = {"SOURCE...", "MOUNTPOINT"},
	.summary = "Verifies the index and compares it with the disk: every record, every name, "
		   "and the bytes of every file that may have a copy. Prints each difference. The "
		   "index of a mounted view can also be checked.",
	.options = {check_options, format_option, scan_options, walk_options, index_option,
		    message_options},
	.apply = check_apply,
};

enum twinfs_exit cmd_check(int argc, char *argv[])
{
	CLEANUP(check_command_deinit) struct check_command command = {0};
	int operands;
	int r;

	common_settings_init(&command.common);
	r = options_parse(&check_table, argc, argv, &command, &operands);
	if (r == 0)
		r = usage_check(&check_table,
				operands == argc ? "no SOURCE and no MOUNTPOINT given" : NULL);
	if (r != 0)
		return options_exit(r);
	command.check.index = &command.common.index;
	command.check.json = command.common.json;
	return check_run(&command.check, argv + operands, (size_t)(argc - operands));
}
