/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "cli/command.h"
#include "cli/index_print.h"
#include "cli/list_print.h"

enum {
	OPT_FORMAT = OPTION_ID_OWN,
	OPT_REDUNDANT,
	OPT_SINGLES,
	OPT_SUMMARY,
};

struct list_settings {
	struct common_settings common;
	struct list_request request;
	unsigned int part_count; /* how many parts were asked for */
};

static const struct option_spec list_options[] = {
	{.heading = "What is printed"},
	{
		.name = "format",
		.letter = 'F',
		.argument = "FORMAT",
		.help = "text (the default, for people), fdupes (a path a line, an empty line "
			"between groups) or json",
		.id = OPT_FORMAT,
		.expects = "text, fdupes or json",
	},
	{
		.name = "redundant",
		.help = "only the copies that are not kept",
		.id = OPT_REDUNDANT,
	},
	{
		.name = "singles",
		.help = "the files that have no copy, instead",
		.id = OPT_SINGLES,
	},
	{
		.name = "summary",
		.help = "only the figures",
		.id = OPT_SUMMARY,
	},
	{0},
};

static int parse_format(const char *word, enum report_format *format)
{
	static const char *const words[] = {
		[REPORT_TEXT] = "text",
		[REPORT_FDUPES] = "fdupes",
		[REPORT_JSON] = "json",
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(word, words[i]) == 0) {
			*format = (enum report_format)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int set_part(struct list_settings *settings, enum report_part part)
{
	settings->part_count += settings->request.part != part;
	settings->request.part = part;
	return 0;
}

static int list_apply(void *context, int id, const char *value)
{
	struct list_settings *settings = context;

	switch (id) {
	case OPT_FORMAT:
		return parse_format(value, &settings->request.format);
	case OPT_REDUNDANT:
		return set_part(settings, REPORT_REDUNDANT);
	case OPT_SINGLES:
		return set_part(settings, REPORT_SINGLES);
	case OPT_SUMMARY:
		return set_part(settings, REPORT_SUMMARY);
	default:
		return common_apply(&settings->common, id, value);
	}
}

static const struct option_table list_table = {
	.command = "twinfs list",
	.usage = {"SOURCE...", "MOUNTPOINT"},
	.summary = "Prints the groups of equal files in the sources, those first that would give "
		   "back most. The index is brought up to date before; one that belongs to a "
		   "mounted view, by that view.",
	.options = {list_options, scan_options, index_option, talk_options},
	.apply = list_apply,
};

static int check_usage(const struct list_settings *settings, int operand_count)
{
	if (operand_count == 0) {
		options_complain(&list_table, "no SOURCE and no MOUNTPOINT given");
		return -EINVAL;
	}
	if (settings->part_count > 1) {
		options_complain(&list_table, "give one of --redundant, --singles and --summary");
		return -EINVAL;
	}
	return 0;
}

enum twinfs_exit cmd_list(int argc, char *argv[])
{
	struct list_settings settings = {.request.part = REPORT_GROUPS};
	const struct index_printer printer = {
		.noun = "list",
		.common = &settings.common,
		.print = list_print,
		.context = &settings.request,
	};
	enum twinfs_exit status;
	int operands;
	int r;

	common_settings_init(&settings.common);
	settings.request.common = &settings.common;
	r = options_parse(&list_table, argc, argv, &settings, &operands);
	if (r == 0)
		r = check_usage(&settings, argc - operands);
	if (r != 0)
		status = options_exit(r);
	else
		status = index_print(&printer, argv + operands, (size_t)(argc - operands));
	common_settings_deinit(&settings.common);
	return status;
}
