/* SPDX-License-Identifier: MIT */
#include "cli/acting.h"
#include "cli/command.h"
#include "cli/common_options.h"

enum {
	OPT_SYMBOLIC = OPTION_ID_ACT,
	OPT_RELATIVE,
	OPT_FORCE_METADATA,
};

static const struct option_spec link_options[] = {
	{
		.name = "symbolic",
		.letter = 's',
		.help = "make symbolic links with absolute paths instead of hard links",
		.id = OPT_SYMBOLIC,
	},
	{
		.name = "relative",
		.letter = 'r',
		.help = "with --symbolic: use paths relative to the link",
		.id = OPT_RELATIVE,
	},
	{
		.name = "force-metadata",
		.help = "also link copies that differ from the kept copy in owner, mode or "
			"extended attributes, which are lost; with --symbolic, also where fewer "
			"users can reach the kept copy",
		.id = OPT_FORCE_METADATA,
	},
	{0},
};

static int link_apply(void *context, int id, const char *value)
{
	struct acting *acting = context;

	switch (id) {
	case OPT_SYMBOLIC:
		acting->act.kind = ACT_SYMLINK;
		return 0;
	case OPT_RELATIVE:
		acting->act.relative = true;
		return 0;
	case OPT_FORCE_METADATA:
		acting->act.force_metadata = true;
		return 0;
	default:
		return acting_apply(acting, id, value);
	}
}

static const struct option_table link_table = {
	.command = "twinfs link",
	.usage = {"SOURCE|FILE...", "MOUNTPOINT"},
	.summary = "Replaces each redundant copy by a hard link to the kept copy. Its path leads "
		   "to the content at every moment, and both files are compared again, byte by "
		   "byte, before the copy is removed. Linked files share the owner, mode and times "
		   "of the kept copy; a write to one changes all.",
	.options = {acting_options, link_options, filter_options, keep_option, rule_options,
		    scan_options, walk_options, files_option, index_option, message_options},
	.apply = link_apply,
};

enum twinfs_exit cmd_link(int argc, char *argv[])
{
	CLEANUP_ACTING struct acting acting;

	acting_init(&acting, ACT_LINK, "link", "linked");
	return acting_main(&acting, &link_table, argc, argv);
}
