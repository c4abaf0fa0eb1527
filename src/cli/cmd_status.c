/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/human_text.h"
#include "base/json_path.h"
#include "base/log.h"
#include "base/quote.h"
#include "cli/command.h"
#include "index/status_file.h"
#include "mountpoint/point.h"
#include "options/common_options.h"
#include "report/figures.h"

enum {
	OPT_JSON = OPTION_ID_OWN,
};

static const struct option_spec status_options[] = {
	{
		.name = "json",
		.help = "same as --format=json: an array with .twinfs/status.json of each view",
		.id = OPT_JSON,
	},
	{0},
};

static int status_apply(void *context, int id, const char *value)
{
	struct common_settings *settings = context;

	if (id != OPT_JSON)
		return common_apply(settings, id, value);
	settings->json = true;
	return 0;
}

static const struct option_table status_table = {
	.command = "twinfs status",
	.usage = {"[MOUNTPOINT...]"},
	.summary = "Prints the status of the views at the mount points, or of all mounted views: "
		   "equal folders, progress, sources, groups, and unreadable files.",
	.options = {format_option, status_options, version_option},
	.apply = status_apply,
};

static int print_path_member(struct output *output, const char *word, const json_t *object,
			     const char *key)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r;

	r = json_get_path(object, key, &path);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (!bytes_text(&path))
		return -ENOMEM;
	return figure_print_path(output, word, bytes_text(&path));
}

static int print_sources(struct output *output, const json_t *sources)
{
	const json_t *source;
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_array_size(sources); i++)
		r = print_path_member(output, i == 0 ? "sources" : "", json_array_get(sources, i),
				      "path");
	for (size_t i = 0; r == 0 && i < json_array_size(sources); i++) {
		source = json_array_get(sources, i);
		if (json_is_true(json_object_get(source, "missing")))
			r = print_path_member(output, "missing", source, "path");
	}
	return r;
}

/* Prints how the view can be made faster. */
static void print_advice(struct output *output, const json_t *advice)
{
	for (size_t i = 0; i < json_array_size(advice); i++)
		figure_print(output, i == 0 ? "faster" : "", "%s",
			     json_string_value(json_array_get(advice, i)));
}

/* Prints how many folders are whole copies, if there are any. */
static void print_folders(struct output *output, const json_t *status)
{
	uint64_t folders = status_file_number(status, "redundant_folders");
	char number[NUMBER_TEXT_MAX];
	char size[FIGURE_SIZE_MAX];

	if (folders > 0)
		figure_print(output, "folders", "%s %s: %s", number_format(number, folders),
			     plural(folders, "folder is a whole copy", "folders are whole copies"),
			     figure_size(size,
					 status_file_number(status, "redundant_folder_bytes")));
}

static int print_text(struct output *output, const char *point, const json_t *status)
{
	const struct report_summary summary = {
		.groups = status_file_number(status, "groups"),
		.redundant_files = status_file_number(status, "redundant_files"),
		.redundant_bytes = status_file_number(status, "redundant_bytes"),
		.reclaimable_bytes = status_file_number(status, "reclaimable_bytes"),
		.files = status_file_number(status, "files"),
		.directories = status_file_number(status, "directories"),
		.bytes = status_file_number(status, "bytes"),
		.errors = status_file_number(status, "errors"),
		.pending = status_file_number(status, "pending"),
	};
	int r;

	r = figure_print_path(output, "view", point);
	print_folders(output, status);
	if (r == 0)
		r = print_sources(output, json_object_get(status, "sources"));
	if (r == 0)
		r = print_path_member(output, "index", status, "index");
	if (r == 0)
		r = print_path_member(output, "keep", status, "keep");
	figure_print(output, "state", "%s", status_file_text(status, "state"));
	if (json_object_get(status, "problem"))
		figure_print(output, "problem",
			     "cannot bring the index up to date: %s; see 'twinfs doctor'",
			     status_file_text(status, "problem"));
	figure_print(output, "since", "%s, process %" PRIu64 ", twinfs %s",
		     status_file_text(status, "since"), status_file_number(status, "pid"),
		     status_file_text(status, "version"));
	figure_print(output, "reads", "%s; requests: %s; watch: %s",
		     status_file_text(status, "read_mode"), status_file_text(status, "transport"),
		     status_file_text(status, "watch"));
	if (json_object_get(status, "confined"))
		figure_print(output, "confined", "%s", status_file_text(status, "confined"));
	if (json_is_true(json_object_get(status, "shared")))
		figure_print(output, "shared",
			     "other users see the files that they may read in the sources");
	print_advice(output, json_object_get(status, "advice"));
	if (status_file_number(status, "unwatched") > 0)
		figure_print(output, "unwatched", "%" PRIu64 " directories, %s",
			     status_file_number(status, "unwatched"),
			     status_file_text(status, "remedy"));
	figures_print(output, &summary);
	return r;
}

/* Outcome of print_view(): the user did not name the view, and it was unmounted meanwhile. */
enum {
	VIEW_UNMOUNTED = 1,
};

static bool is_unmounted(const char *point)
{
	AUTO_FREE char *found = NULL;
	int r = mount_point_of(point, &found);

	return r == -ENOENT || (r == 0 && (!found || strcmp(found, point) != 0));
}

/* Prints the status of one view. Returns 0, VIEW_UNMOUNTED, or -errno, logged.
 *
 * named	the user named the view
 */
static int print_view(struct output *output, const struct common_settings *settings,
		      const char *point, bool named, bool first)
{
	json_auto_t *status = NULL;
	AUTO_FREE char *text = NULL;
	int r;

	r = status_file_read(point, &status);
	if (r < 0 && !named && is_unmounted(point))
		return VIEW_UNMOUNTED;
	if (r < 0) {
		status_file_explain(point, r);
		return r;
	}
	if (!settings->json) {
		output_text(output, first ? "" : "\n");
		return print_text(output, point, status);
	}
	text = json_dumps(status, JSON_INDENT(2));
	if (!text)
		return -ENOMEM;
	output_text(output, first ? "\n" : ",\n");
	output_json(output, text, strlen(text));
	return 0;
}

static enum twinfs_exit print_views(const struct common_settings *settings,
				    const struct text_list *points, bool named)
{
	CLEANUP_OUTPUT struct output output;
	size_t printed = 0, failed = 0;
	int r;

	output_init(&output, STDOUT_FILENO);
	output_text(&output, settings->json ? "[" : "");
	for (size_t i = 0; i < points->count; i++) {
		r = print_view(&output, settings, points->items[i], named, printed == 0);
		printed += r == 0;
		failed += r < 0;
	}
	output_text(&output, settings->json ? "\n]\n" : "");
	if (printed + failed == 0 && !settings->json)
		output_text(&output, "no view is mounted\n");
	r = output_flush(&output);
	if (r < 0 && r != -EPIPE)
		log_error("cannot write the status: %s", error_text(r));
	if (r < 0 || (failed > 0 && printed == 0))
		return TWINFS_EXIT_FAILED;
	return failed > 0 ? TWINFS_EXIT_INCOMPLETE : TWINFS_EXIT_COMPLETE;
}

static enum twinfs_exit print_all(const struct common_settings *settings)
{
	CLEANUP_TEXT_LIST struct text_list points = {0};

	if (mount_points_list(&points) < 0)
		return TWINFS_EXIT_FAILED;
	return print_views(settings, &points, false);
}

/* Checks all operands before anything is printed. An operand can be any path in a view. */
static enum twinfs_exit print_named(const struct common_settings *settings, char *const *named,
				    size_t count)
{
	CLEANUP_TEXT_LIST struct text_list points = {0};

	for (size_t i = 0; i < count; i++) {
		AUTO_FREE char *point = NULL;
		int r = mount_point_of(named[i], &point);

		if (r < 0) {
			log_error("cannot find %s: %s", quote_path(named[i]), error_text(r));
			return TWINFS_EXIT_FAILED;
		}
		if (!point) {
			log_error("no view is mounted at %s", quote_path(named[i]));
			return TWINFS_EXIT_FAILED;
		}
		if (text_list_add(&points, point, strlen(point)) < 0)
			return TWINFS_EXIT_FAILED;
	}
	return print_views(settings, &points, true);
}

enum twinfs_exit cmd_status(int argc, char *argv[])
{
	struct common_settings settings;
	int operands;
	int r;

	common_settings_init(&settings);
	r = options_parse(&status_table, argc, argv, &settings, &operands);
	if (r != 0)
		return options_exit(r);
	if (operands == argc)
		return print_all(&settings);
	return print_named(&settings, argv + operands, (size_t)(argc - operands));
}
