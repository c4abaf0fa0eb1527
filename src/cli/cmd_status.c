/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "base/attributes.h"
#include "base/log.h"
#include "base/numbers.h"
#include "choose/figures.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/counted.h"
#include "index/mount_point.h"
#include "row/json_path.h"
#include "scan/status_file.h"

struct status_settings {
	struct common_settings common;
	bool verbose;
};

static const struct option_spec status_options[] = {
	{
		.name = "json",
		.help = "same as --format=json: an array with .twinfs/status.json of each view",
		.at = offsetof(struct status_settings, common.json),
	},
	{
		.name = "verbose",
		.letter = 'v',
		.help = "also print technical details: the index, the process, how files are read, "
			"what the daemon may do, and what would be faster",
		.at = offsetof(struct status_settings, verbose),
	},
	{0},
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

/* Prints what the view does, and how to solve its problem. */
static int print_state(struct output *output, const json_t *status)
{
	const char *state = status_file_text(status, "state");
	CLEANUP_BYTES struct bytes text = {0};
	int r = status_words_state(status, &text);

	if (r < 0 || !bytes_text(&text))
		return -ENOMEM;
	figure_print(output, "state", "%s", bytes_text(&text));
	if (strcmp(state, "source-missing") == 0)
		figure_print(output, "to do", "mount the disk of the source, or unmount the view");
	if (strcmp(state, "source-silent") == 0)
		figure_print(output, "to do", "%s", "check the server or the disk of the source");
	if (strcmp(state, "stuck") != 0)
		return 0;
	figure_print(output, "to do", "%s", status_words_stuck_remedy(status));
	return print_path_member(output, "", status, "index");
}

/* ---- figures -------------------------------------------------------------------------- */

/* Prints what is redundant, and what removing it frees. Other files can hold the same blocks. */
static void print_redundant(struct output *output, const json_t *status)
{
	uint64_t files = status_file_number(status, "redundant_files");
	uint64_t bytes = status_file_number(status, "redundant_bytes");
	uint64_t reclaimable = status_file_number(status, "reclaimable_bytes");
	bool less = reclaimable < bytes;

	figure_print(output, "redundant", "%s%s%s; removing %s frees %s",
		     counted(files, "file", "files").text, less ? ", " : "",
		     less ? size_text(bytes).text : "", plural(files, "it", "them"),
		     figure_text(reclaimable).text);
}

/* Prints the groups. */
static void print_groups(struct output *output, const json_t *status)
{
	uint64_t groups = status_file_number(status, "groups");
	bool scanning = json_object_get(status, "percent");
	bool complete = status_file_number(status, "errors") == 0 &&
			status_file_number(status, "pending") == 0;

	if (groups == 0) {
		figure_print(output, "groups", "%s",
			     scanning   ? "none so far"
			     : complete ? "none: no file has a copy"
					: "none");
		return;
	}
	figure_print(output, "groups", "%s of equal files%s",
		     counted(groups, "group", "groups").text, scanning ? " so far" : "");
	print_redundant(output, status);
}

/* Prints how many folders are whole copies, if there are any. */
static void print_folders(struct output *output, const json_t *status)
{
	uint64_t folders = status_file_number(status, "redundant_folders");

	if (folders > 0)
		figure_print(output, "folders", "%s: %s",
			     counted(folders, "folder is a whole copy", "folders are whole copies")
				     .text,
			     figure_text(status_file_number(status, "redundant_folder_bytes"))
				     .text);
}

/* Prints what the last dry run of `dedupe --partial` found. */
static void print_equal_parts(struct output *output, const json_t *status)
{
	const json_t *parts = json_object_get(status, "equal_parts");
	uint64_t runs = status_file_number(parts, "runs");

	if (runs > 0)
		figure_print(output, "equal parts",
			     "%s of different files, %s; found %s by 'dedupe --partial'",
			     counted(runs, "run", "runs").text,
			     figure_text(status_file_number(parts, "bytes")).text,
			     status_file_text(parts, "time"));
}

static void print_files(struct output *output, const json_t *status)
{
	uint64_t directories = status_file_number(status, "directories");

	figure_print(output, "files", "%s in %s, %s",
		     number_text(status_file_number(status, "files")).text,
		     counted(directories, "folder", "folders").text,
		     figure_text(status_file_number(status, "bytes")).text);
}

/* Prints what the view does not know. */
static void print_gaps(struct output *output, const json_t *status)
{
	uint64_t left_out = status_file_number(status, "left_out_file_systems");
	uint64_t errors = status_file_number(status, "errors");
	uint64_t pending = status_file_number(status, "pending");

	if (errors == 0)
		figure_print(output, "unreadable", "none");
	else
		figure_print(output, "unreadable", "%s; see .twinfs/errors in the view",
			     counted(errors, "file or folder", "files or folders").text);
	if (left_out > 0)
		figure_print(output, "left out",
			     "%s below the sources; 'twinfs list --summary' names %s, and "
			     "--cross-file-systems of mount includes %s",
			     counted(left_out, "file system", "file systems").text,
			     plural(left_out, "it", "them"), plural(left_out, "it", "them"));
	if (pending > 0)
		figure_print(output, "pending", "%s to be compared; see .twinfs/pending",
			     counted(pending, "file waits", "files wait").text);
}

/* What a member of a source means for its files. */
static const struct source_caveat {
	const char *key, *row, *before, *after; /* texts before and after the path */
} caveats[] = {
	{"moved", "moved", "folders changed during each of several walks, so files moved to ",
	 " meanwhile can be missing until another walk"},
	{"no_ctime", "ctime", "a write to ",
	 " can leave no trace, so each scan and each open in the view reads the file again; see "
	 "'twinfs doctor'"},
};

static int print_caveat(struct output *output, const json_t *sources,
			const struct source_caveat *caveat)
{
	const json_t *source;
	size_t i;

	json_array_foreach(sources, i, source)
	{
		CLEANUP_BYTES struct bytes path = {0};
		int r;

		if (!json_object_get(source, caveat->key))
			continue;
		r = json_get_path(source, "path", &path);
		if (r < 0)
			return r;
		figure_print(output, caveat->row, "%s%s%s", caveat->before,
			     quote_bytes((const char *)path.data, path.length), caveat->after);
	}
	return 0;
}

static int print_caveats(struct output *output, const json_t *status)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(caveats); i++)
		r = print_caveat(output, json_object_get(status, "sources"), &caveats[i]);
	return r;
}

static int print_unwatched(struct output *output, const json_t *status, bool verbose)
{
	uint64_t unwatched = status_file_number(status, "unwatched");
	CLEANUP_BYTES struct bytes remedy = {0};

	if (unwatched == 0)
		return 0;
	if (status_words_watch_remedy(status, verbose, &remedy) < 0 || !bytes_text(&remedy))
		return -ENOMEM;
	figure_print(output, "unwatched", "%s at intervals instead of watched",
		     counted(unwatched, "folder is walked", "folders are walked").text);
	if (remedy.length > 0)
		figure_print(output, "to do", "%s", bytes_text(&remedy));
	return 0;
}

/* ---- technical details ---------------------------------------------------------------- */

static int print_details(struct output *output, const json_t *status)
{
	const json_t *advice = json_object_get(status, "advice");
	int r = print_path_member(output, "index", status, "index");

	figure_print(output, "since", "%s, process %" PRIu64 ", twinfs %s",
		     status_file_text(status, "since"), status_file_number(status, "pid"),
		     status_file_text(status, "version"));
	figure_print(output, "reads", "%s; requests: %s; watch: %s",
		     status_file_text(status, "read_mode"), status_file_text(status, "transport"),
		     status_file_text(status, "watch"));
	if (json_object_get(status, "confined"))
		figure_print(output, "confined", "%s", status_file_text(status, "confined"));
	for (size_t i = 0; i < json_array_size(advice); i++)
		figure_print(output, i == 0 ? "faster" : "", "%s",
			     json_string_value(json_array_get(advice, i)));
	return r;
}

static int print_text(struct output *output, const char *point, const json_t *status, bool verbose)
{
	int r = figure_print_path(output, "view", point);

	if (r == 0)
		r = print_sources(output, json_object_get(status, "sources"));
	if (r == 0)
		r = print_state(output, status);
	if (r < 0)
		return r;
	print_files(output, status);
	print_groups(output, status);
	print_folders(output, status);
	print_equal_parts(output, status);
	print_gaps(output, status);
	r = print_caveats(output, status);
	if (r == 0)
		r = print_unwatched(output, status, verbose);
	if (json_is_true(json_object_get(status, "shared")))
		figure_print(output, "shared",
			     "other users see the files that they may read in the sources");
	if (r == 0 && (verbose || strcmp(status_file_text(status, "keep"), "default") != 0))
		r = print_path_member(output, "keep", status, "keep");
	return r == 0 && verbose ? print_details(output, status) : r;
}

static int print_silent(struct output *output, const char *point, const json_t *status)
{
	int r = figure_print_path(output, "view", point);

	figure_print(output, "state", "%s: %s", status_file_text(status, "state"),
		     status_file_text(status, "problem"));
	return r;
}

/* ---- views ----------------------------------------------------------------------------- */

/* Outcomes of print_view(). */
enum {
	/* the user did not name the view, and it belongs to another user or was unmounted */
	VIEW_OMITTED = 1,
	VIEW_HAS_PROBLEM = 2, /* printed; its state is a problem (logged) */
};

static bool is_unmounted(const char *point)
{
	AUTO_FREE char *found = NULL;
	int r = mount_point_of(point, &found);

	return r == -ENOENT || (r == 0 && (!found || strcmp(found, point) != 0));
}

/* Makes the status of a view whose daemon does not answer. Returns 0, the error if there is no such
 * status, or -ENOMEM. */
static int make_silent(const char *point, int error, json_t **status)
{
	json_auto_t *made = NULL;

	if (error != -ETIMEDOUT && error != -ENOTCONN)
		return error;
	made = json_pack("{ssss}", "state", error == -ETIMEDOUT ? "stuck" : "killed", "problem",
			 error == -ETIMEDOUT ? "the daemon does not answer"
					     : "the daemon was killed");
	if (!made || json_set_path(made, "mountpoint", point, strlen(point)) < 0)
		return -ENOMEM;
	*status = TAKE(made);
	return 0;
}

/* Logs the problem of a view that answered. Returns VIEW_HAS_PROBLEM, or 0 if it has none. */
static int explain_problem(const char *point, const json_t *status)
{
	const char *state = status_file_text(status, "state");

	if (strcmp(state, "stuck") == 0)
		log_error("the view at %s cannot bring its index up to date: %s; see 'twinfs "
			  "doctor'",
			  quote_path(point), status_file_text(status, "problem"));
	else if (strcmp(state, "source-missing") == 0)
		log_error("a source of the view at %s is missing; mount it, or unmount the view",
			  quote_path(point));
	else if (strcmp(state, "source-silent") == 0)
		log_error("a source of the view at %s does not answer; check its server or disk, "
			  "or unmount the view",
			  quote_path(point));
	else
		return 0;
	return VIEW_HAS_PROBLEM;
}

/* Prints the status of one view. Returns 0, VIEW_OMITTED, VIEW_HAS_PROBLEM, or -errno, logged.
 *
 * named	the user named the view
 */
static int print_view(struct output *output, const struct status_settings *settings,
		      const char *point, bool named, bool first)
{
	json_auto_t *status = NULL;
	AUTO_FREE char *text = NULL;
	int error, r, outcome;

	error = status_file_read(point, &status);
	if (!named && (error == -EACCES || (error < 0 && is_unmounted(point))))
		return VIEW_OMITTED;
	if (error < 0)
		status_file_explain(point, error);
	r = error < 0 ? make_silent(point, error, &status) : 0;
	if (r < 0)
		return r;
	outcome = error < 0 ? VIEW_HAS_PROBLEM : explain_problem(point, status);
	if (!settings->common.json) {
		output_text(output, first ? "" : "\n");
		r = error < 0 ? print_silent(output, point, status)
			      : print_text(output, point, status, settings->verbose);
		return r < 0 ? r : outcome;
	}
	text = json_dumps(status, JSON_INDENT(2));
	if (!text)
		return -ENOMEM;
	output_text(output, first ? "\n" : ",\n");
	output_json(output, text, strlen(text));
	return outcome;
}

static enum twinfs_exit print_views(const struct status_settings *settings,
				    const struct text_list *points, bool named)
{
	CLEANUP_OUTPUT struct output output;
	size_t printed = 0, failed = 0, problems = 0;
	int r;

	output_init(&output, STDOUT_FILENO);
	output_text(&output, settings->common.json ? "[" : "");
	for (size_t i = 0; i < points->count; i++) {
		r = print_view(&output, settings, points->items[i], named, printed == 0);
		printed += r == 0 || r == VIEW_HAS_PROBLEM;
		problems += r == VIEW_HAS_PROBLEM;
		failed += r < 0;
	}
	output_text(&output, settings->common.json ? "\n]\n" : "");
	if (printed + failed == 0 && !settings->common.json)
		output_text(&output, "no view of this user is mounted\n");
	r = output_flush(&output);
	if (r < 0 && r != -EPIPE)
		log_error("cannot write the status: %s", error_text(r));
	if (r < 0 || (failed > 0 && printed == 0))
		return TWINFS_EXIT_FAILED;
	return failed + problems > 0 ? TWINFS_EXIT_INCOMPLETE : TWINFS_EXIT_COMPLETE;
}

static enum twinfs_exit print_all(const struct status_settings *settings)
{
	CLEANUP_TEXT_LIST struct text_list points = {0};

	if (mount_points_list(&points) < 0)
		return TWINFS_EXIT_FAILED;
	return print_views(settings, &points, false);
}

/* Checks all operands before anything is printed. An operand can be any path in a view. */
static enum twinfs_exit print_named(const struct status_settings *settings, char *const *named,
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

static enum twinfs_exit run(void *settings, char **operands, size_t count)
{
	return count == 0 ? print_all(settings) : print_named(settings, operands, count);
}

const struct command status_command = {
	.options = {.command = "twinfs status",
		    .usage = {"[MOUNTPOINT...]"},
		    .summary = "Prints the status of the views at the mount points, or of all "
			       "mounted views: sources, state and progress, groups, equal folders, "
			       "and unreadable files.",
		    .options = {format_option, status_options, version_option}},
	.settings_bytes = sizeof(struct status_settings),
	.run = run,
};
