/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/json_path.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/stop.h"
#include "catalog/query.h"
#include "cli/command.h"
#include "cli/completeness.h"
#include "cli/indexing.h"
#include "cli/interrupt.h"
#include "cli/shown_paths.h"
#include "cli/spool.h"
#include "cli/status_file.h"
#include "mount/point.h"
#include "report/report.h"

enum {
	OPT_FORMAT = OPTION_ID_OWN,
	OPT_REDUNDANT,
	OPT_SINGLES,
	OPT_SUMMARY,
};

struct list_settings {
	struct common_settings common;
	enum report_format format;
	enum report_part part;
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
	settings->part_count += settings->part != part;
	settings->part = part;
	return 0;
}

static int list_apply(void *context, int id, const char *value)
{
	struct list_settings *settings = context;

	switch (id) {
	case OPT_FORMAT:
		return parse_format(value, &settings->format);
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
		   "back most. The index is brought up to date before, unless it belongs to a "
		   "mounted view: then it is printed as it is.",
	.options = {list_options, scan_options, index_option, talk_options},
	.apply = list_apply,
};

/* Prints to the output what the index has. */
static int print_to(struct output *output, const struct list_settings *settings,
		    struct catalog *catalog, const struct report *what,
		    struct report_summary *summary)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct report report = *what;
	int r;

	r = catalog_read_begin(catalog, &reader);
	if (r < 0)
		return r;
	report.reader = reader;
	report.format = settings->format;
	report.part = settings->part;
	report.min_size = settings->common.min_size;
	/* what is served may be of smaller files too: then they are wanted, unless said otherwise */
	if (!settings->common.min_size_given)
		r = catalog_get_min_size(reader, &report.min_size);
	return r < 0 ? r : report_print(&report, output, summary);
}

/* 0, or -errno, said. A reader that has closed its pipe knows that it did. */
static int explain_printing(int result)
{
	if (result < 0 && result != -EPIPE)
		log_error("cannot print the list: %s", error_text(result));
	return result;
}

/* ---- an index that is ours --------------------------------------------------------------- */

static enum twinfs_exit print_ours(const struct list_settings *settings, struct indexing *indexing,
				   const struct shown_paths *shown)
{
	const struct report what = {.sources = &indexing->sources, .shown = shown->list};
	CLEANUP_OUTPUT struct output output;
	struct report_summary summary = {0};
	int r;

	output_init(&output, STDOUT_FILENO);
	r = print_to(&output, settings, indexing->catalog, &what, &summary);
	if (explain_printing(r) < 0)
		return TWINFS_EXIT_FAILED;
	return completeness_status(summary.errors, summary.pending);
}

static int bring_up_to_date(struct indexing *indexing)
{
	enum progress_when when = indexing->settings->progress;
	int r;

	r = indexing_names(indexing, when);
	if (r == 0 && !stop_requested())
		r = indexing_contents(indexing, when);
	if (r == 0 && stop_requested()) {
		log_error("interrupted; the next scan goes on from here");
		r = -EINTR;
	}
	return r;
}

/* ---- an index that a daemon keeps -------------------------------------------------------- */

/* Says who keeps the index, and since when nothing has changed. */
static int say_owner(const char *folder, const struct catalog_totals *totals)
{
	AUTO_FREE char *mount_point = NULL;
	char when[64];
	struct tm local;
	pid_t pid = 0;

	if (localtime_r(&totals->changed.tv_sec, &local) == NULL ||
	    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %Z", &local) == 0)
		return -EOVERFLOW;
	if (catalog_owner(folder, &pid, &mount_point) < 0)
		pid = 0;
	if (mount_point != NULL && mount_point[0] != '\0')
		log_info("process %d keeps this index for the view at %s; it last changed at %s",
			 (int)pid, quote_path(mount_point), when);
	else if (pid != 0)
		log_info("process %d is changing this index; it last did at %s", (int)pid, when);
	return 0;
}

static int say_how_current(struct catalog *catalog, const struct sources *sources)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct catalog_totals totals = {0};
	int r;

	r = catalog_read_begin(catalog, &reader);
	if (r == 0)
		r = catalog_get_totals(reader, &totals);
	if (r == 0)
		r = say_owner(catalog_folder(catalog), &totals);
	if (r < 0)
		return r;
	return totals.errors > 0 ? completeness_name_errors(reader, sources) : 0;
}

/* Prints into a file first, so that the daemon's index does not have to keep an old state for as
 * long as somebody reads the list in a pager.
 */
static int print_through_spool(const struct list_settings *settings, struct catalog *catalog,
			       const struct report *what, struct report_summary *summary)
{
	CLEANUP_OUTPUT struct output output;
	AUTO_CLOSE int spool = spool_open();
	int r;

	if (spool < 0)
		return spool;
	output_init(&output, spool);
	r = print_to(&output, settings, catalog, what, summary);
	return r < 0 ? r : spool_copy(spool, STDOUT_FILENO);
}

static int print_served(const struct list_settings *settings, struct catalog *catalog,
			char *const *given, size_t count, struct report_summary *summary)
{
	CLEANUP(sources_close) struct sources sources = {0};
	CLEANUP(shown_paths_free) struct shown_paths shown = {0};
	const struct report what = {.sources = &sources};
	struct report report = what;
	int r;

	r = sources_open(&sources, catalog, NULL, false);
	if (r < 0)
		return r;
	r = shown_paths_make(&shown, &sources, given, count);
	if (r == 0)
		r = say_how_current(catalog, &sources);
	report.shown = shown.list;
	if (r == 0)
		r = print_through_spool(settings, catalog, &report, summary);
	return explain_printing(r);
}

static enum twinfs_exit list_served(const struct list_settings *settings, const char *folder,
				    char *const *given, size_t count)
{
	struct report_summary summary = {0};
	struct catalog *catalog = NULL;
	int r;

	r = indexing_open_read_only(folder, &catalog);
	if (r != 0) {
		indexing_explain(folder, r);
		return TWINFS_EXIT_FAILED;
	}
	r = print_served(settings, catalog, given, count, &summary);
	catalog_close(catalog);
	return r < 0 ? TWINFS_EXIT_FAILED : completeness_status(summary.errors, summary.pending);
}

static enum twinfs_exit list_mount_point(const struct list_settings *settings, const char *point)
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
	return list_served(settings, bytes_text(&folder), NULL, 0);
}

/* ------------------------------------------------------------------------------------------ */

static enum twinfs_exit list_sources(const struct list_settings *settings, char *const *given,
				     size_t count)
{
	CLEANUP_INDEXING struct indexing indexing = {0};
	CLEANUP(shown_paths_free) struct shown_paths shown = {0};
	int r;

	r = indexing_locate(&indexing, &settings->common, given, count);
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	r = indexing_open(&indexing);
	if (r == INDEXING_IN_USE)
		return list_served(settings, indexing.folder, given, count);
	if (r == 0)
		r = shown_paths_make(&shown, &indexing.sources, given, count);
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	interrupt_watch();
	if (bring_up_to_date(&indexing) < 0)
		return TWINFS_EXIT_FAILED;
	return print_ours(settings, &indexing, &shown);
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
	struct list_settings settings = {.part = REPORT_GROUPS};
	AUTO_FREE char *point = NULL;
	enum twinfs_exit status;
	int operands;
	int r;

	common_settings_init(&settings.common);
	r = options_parse(&list_table, argc, argv, &settings, &operands);
	if (r == 0)
		r = check_usage(&settings, argc - operands);
	if (r != 0) {
		status = options_exit(r);
	} else if (argc - operands == 1 && find_mount_point(argv[operands], &point) == 0 &&
		   point != NULL) {
		status = list_mount_point(&settings, point);
	} else {
		status = list_sources(&settings, argv + operands, (size_t)(argc - operands));
	}
	common_settings_deinit(&settings.common);
	return status;
}
