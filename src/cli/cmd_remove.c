/* SPDX-License-Identifier: MIT */
#include "cli/acting.h"
#include "cli/command.h"
#include "options/common_options.h"

enum {
	OPT_TRASH = OPTION_ID_ACT,
};

static const struct option_spec remove_options[] = {
	{
		.name = "trash",
		.help = "move the copies to the trash of the desktop instead",
		.id = OPT_TRASH,
	},
	{0},
};

static int remove_apply(void *context, int id, const char *value)
{
	struct acting *acting = context;

	if (id != OPT_TRASH)
		return acting_apply(acting, id, value);
	acting->act.kind = ACT_TRASH;
	return 0;
}

static const struct option_table remove_table = {
	.command = "twinfs remove",
	.usage = {"SOURCE|FILE...", "MOUNTPOINT"},
	.summary = "Removes redundant copies. One copy of each group always stays. Each copy is "
		   "compared with the kept copy again, byte by byte, immediately before it is "
		   "removed.",
	.options = {acting_options, remove_options, folders_option, filter_options, keep_option,
		    rule_options, scan_options, walk_options, files_option, index_option,
		    message_options},
	.apply = remove_apply,
};

enum twinfs_exit cmd_remove(int argc, char *argv[])
{
	CLEANUP_ACTING struct acting acting;

	acting_init(&acting, ACT_REMOVE, "remove", "removed");
	return acting_main(&acting, &remove_table, argc, argv);
}
