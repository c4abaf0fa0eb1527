/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/json_path.h"
#include "cli/command.h"
#include "cli/indexing.h"
#include "cli/interrupt.h"
#include "cli/list_print.h"
#include "cli/status_file.h"
#include "mount/point.h"

enum {
	OPT_FORMAT = OPTION_ID_OWN,
	OPT_REDUNDANT,
	OPT_SINGLES,
	OPT_SUMMARY,
};

struct list_settings {
	struct common_settings common;
	struct rule_settings rules;
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
		return id >= OPTION_ID_RULES ? rule_apply(&settings->rules, id, value)
					     : common_apply(&settings->common, id, value);
	}
}

static const struct option_table list_table = {
	.command = "twinfs list",
	.usage = {"SOURCE...", "MOUNTPOINT"},
	.summary = "Prints the groups of equal files in the sources, those first that would give "
		   "back most. The index is brought up to date before; one that belongs to a "
		   "mounted view, by that view.",
	.options = {list_options, rule_options, scan_options, index_option, talk_options},
	.apply = list_apply,
};

static enum twinfs_exit list_mount_point(const struct list_request *request, const char *point)
{
	CLEANUP_BYTES struct bytes folder = {0};
	json_auto_t *status = NULL;
	int r;

	r = status_file_read(point, &status);
	if (r == 0)
		r = json_get_path(status, "index", &folder);
	if (r == 0 && bytes_text(&folder) == NULL)
		r = -ENOMEM;
	if (r < 0) {
		status_file_explain(point, r == -ENOENT ? -EPROTO : r);
		return TWINFS_EXIT_FAILED;
	}
	return list_print_served(request, bytes_text(&folder), &(struct named_sources){0});
}

static enum twinfs_exit list_sources(const struct list_request *request, char *const *given,
				     size_t count)
{
	CLEANUP_INDEXING struct indexing indexing = {0};
	struct named_sources named = {.given = given, .count = count};
	int r;

	r = indexing_locate(&indexing, request->common, given, count);
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	named.resolved = indexing.paths;
	interrupt_watch();
	r = indexing_open(&indexing);
	if (r == INDEXING_IN_USE)
		return list_print_served(request, indexing.folder, &named);
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	if (indexing_update(&indexing, NULL) < 0)
		return TWINFS_EXIT_FAILED;
	return list_print_own(request, &indexing, &named);
}

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

/* Whether the operand is a mount point of a view; *point is the caller's, NULL where not. */
static int find_mount_point(const char *operand, char **point)
{
	AUTO_FREE char *absolute = realpath(operand, NULL);
	char **points = NULL;
	int r;

	*point = NULL;
	if (absolute == NULL)
		return 0;
	r = mount_points_list(&points);
	for (size_t i = 0; r == 0 && points[i] != NULL && *point == NULL; i++) {
		if (strcmp(points[i], absolute) == 0) {
			*point = strdup(absolute);
			r = *point != NULL ? 0 : -ENOMEM;
		}
	}
	mount_points_free(points);
	return r;
}

enum twinfs_exit cmd_list(int argc, char *argv[])
{
	struct list_settings settings = {.request.part = REPORT_GROUPS};
	AUTO_FREE char *point = NULL;
	enum twinfs_exit status;
	int operands;
	int r;

	common_settings_init(&settings.common);
	rule_settings_init(&settings.rules);
	settings.request.common = &settings.common;
	settings.request.rules = &settings.rules;
	r = options_parse(&list_table, argc, argv, &settings, &operands);
	if (r == 0)
		r = check_usage(&settings, argc - operands);
	if (r != 0) {
		status = options_exit(r);
	} else if (argc - operands == 1 && find_mount_point(argv[operands], &point) == 0 &&
		   point != NULL) {
		status = list_mount_point(&settings.request, point);
	} else {
		status =
			list_sources(&settings.request, argv + operands, (size_t)(argc - operands));
	}
	rule_settings_deinit(&settings.rules);
	common_settings_deinit(&settings.common);
	return status;
}
