/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/duration.h"
#include "cli/acting.h"
#include "cli/attested_removal.h"
#include "cli/command.h"
#include "options/common_options.h"

enum {
	OPT_TRASH = OPTION_ID_ACT,
	OPT_ATTESTED,
	OPT_MAX_AGE,
};

static const struct option_spec remove_options[] = {
	{
		.name = "trash",
		.help = "move the copies to the trash of the desktop instead",
		.id = OPT_TRASH,
	},
	{
		.name = "attested",
		.argument = "DIR",
		.help = "remove what other hosts keep: --plan is a list of 'twinfs-fleet plan', "
			"and DIR has their attestations",
		.id = OPT_ATTESTED,
	},
	{
		.name = "max-age",
		.argument = "AGE",
		.help = "age of an attestation up to which it counts, at most 7d (default 1d)",
		.id = OPT_MAX_AGE,
		.expects = "a time from 1m to 7d, like 12h or 2d",
	},
	{0},
};

struct remove_settings {
	struct acting acting;
	struct attested_settings attested;
};

static int parse_age(const char *text, uint64_t *seconds)
{
	uint64_t milliseconds = 0;
	int r = duration_parse(text, &milliseconds);

	*seconds = milliseconds / 1000;
	return r < 0 || *seconds < ATTESTED_AGE_MIN || *seconds > ATTESTED_AGE_MAX ? -EINVAL : 0;
}

static int remove_apply(void *context, int id, const char *value)
{
	struct remove_settings *settings = context;

	switch (id) {
	case OPT_TRASH:
		settings->acting.act.kind = ACT_TRASH;
		return 0;
	case OPT_ATTESTED:
		settings->attested.folder = value;
		settings->acting.attested = true;
		return *value != '\0' ? 0 : -EINVAL;
	case OPT_MAX_AGE:
		return parse_age(value, &settings->attested.max_age_s);
	default:
		return acting_apply(&settings->acting, id, value);
	}
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

static enum twinfs_exit run(struct remove_settings *settings, int argc, char *argv[])
{
	struct acting *acting = &settings->acting;
	int operands;
	int r = options_parse(&remove_table, argc, argv, settings, &operands);

	if (r == 0)
		r = usage_check(&remove_table, attested_fault(&settings->attested, acting));
	if (r != 0)
		return options_exit(r);
	argv += operands;
	argc -= operands;
	if (!settings->attested.folder)
		return acting_run(acting, &remove_table, argv, (size_t)argc);
	if (usage_check(&remove_table, acting_fault(acting, argv, (size_t)argc)) < 0)
		return TWINFS_EXIT_USAGE;
	return attested_removal(acting, &settings->attested, argv, (size_t)argc);
}

enum twinfs_exit cmd_remove(int argc, char *argv[])
{
	struct remove_settings settings = {.attested = {.folder = NULL}};
	enum twinfs_exit status;

	acting_init(&settings.acting, ACT_REMOVE, "remove", "removed");
	status = run(&settings, argc, argv);
	acting_deinit(&settings.acting);
	return status;
}
