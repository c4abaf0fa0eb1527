/* SPDX-License-Identifier: MIT */
#include "cli/acting.h"
#include "cli/command.h"
#include "cli/common_options.h"

static int dedupe_apply(void *context, int id, const char *value)
{
	return acting_apply(context, id, value);
}

static const struct option_table dedupe_table = {
	.command = "twinfs dedupe",
	.usage = {"SOURCE...", "MOUNTPOINT"},
	.summary =
		"Has redundant copies share the blocks of the kept file, on file systems that can "
		"(btrfs, XFS, bcachefs): every file stays, with its own name, times and owner, and "
		"may be changed by itself. The kernel compares the bytes before.",
	.options = {acting_options, rule_options, scan_options, index_option, talk_options},
	.apply = dedupe_apply,
};

enum twinfs_exit cmd_dedupe(int argc, char *argv[])
{
	CLEANUP_ACTING struct acting acting;

	acting_init(&acting, ACT_DEDUPE, "dedupe", "deduped");
	return acting_main(&acting, &dedupe_table, argc, argv);
}
