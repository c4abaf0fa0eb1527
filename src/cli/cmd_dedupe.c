/* SPDX-License-Identifier: MIT */
#include "cli/acting.h"
#include "cli/command.h"
#include "options/common_options.h"

static const struct option_table dedupe_table = {
	.command = "twinfs dedupe",
	.usage = {"SOURCE|FILE...", "MOUNTPOINT"},
	.summary = "Makes redundant copies share the blocks of the kept copy, on file systems that "
		   "support it (btrfs, XFS, bcachefs). Every file keeps its own name, times and "
		   "owner, and can be changed independently. The kernel compares the bytes first.",
	.options = {acting_options, filter_options, keep_option, rule_options, scan_options,
		    walk_options, files_option, index_option, message_options},
	.apply = acting_apply,
};

enum twinfs_exit cmd_dedupe(int argc, char *argv[])
{
	CLEANUP_ACTING struct acting acting;

	acting_init(&acting, ACT_DEDUPE, "dedupe", "deduped");
	return acting_main(&acting, &dedupe_table, argc, argv);
}
