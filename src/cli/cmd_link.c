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
		.help = "symbolic links, by absolute paths",
		.id = OPT_SYMBOLIC,
	},
	{
		.name = "relative",
		.letter = 'r',
		.help = "with --symbolic: by paths relative to the link",
		.id = OPT_RELATIVE,
	},
	{
		.name = "force-metadata",
		.help = "also link copies with another owner, mode or other extended attributes, "
			"which they lose by that; with --symbolic also where fewer users may reach "
			"the kept file",
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
	.usage = {"SOURCE...", "MOUNTPOINT"},
	.summary =
		"Puts a hard link to the kept file in the place of each redundant copy. Its path "
		"leads to the content at every moment, and the two are compared once more, byte "
		"by byte, before the copy goes. Linked files have one owner, mode and time, those "
		"of the kept one, and change together.",
	.options = {acting_options, link_options, rule_options, scan_options, index_option,
		    talk_options},
	.apply = link_apply,
};

enum twinfs_exit cmd_link(int argc, char *argv[])
{
	CLEANUP_ACTING struct acting acting;

	acting_init(&acting, ACT_LINK, "link", "linked");
	return acting_main(&acting, &link_table, argc, argv);
}
