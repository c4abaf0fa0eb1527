/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/inotify_use.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/progress.h"
#include "base/text.h"
#include "index/hashes.h"
#include "index/mount_table.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"
#include "index/source_change.h"
#include "row/json_path.h"
#include "row/json_text.h"
#include "view/tree/node.h"
#include "view/tree/query.h"
#include "view/tree/view.h"

/* ---- status.json -------------------------------------------------------------------- */

static const char *const state_names[] = {
	[VIEW_WALKING] = "walking",
	[VIEW_COMPARING] = "comparing",
	[VIEW_CURRENT] = "current",
	[VIEW_SOURCE_SILENT] = "source-silent",
	[VIEW_SOURCE_MISSING] = "source-missing",
	[VIEW_STUCK] = "stuck",
};

/* What status.json and metrics count. */
struct control_figures {
	struct catalog_totals totals;
	struct folder_figures folders;
	uint64_t pending, pending_bytes;
	size_t left_out; /* file systems below the sources that the index leaves out */
};

static int gather(const struct view_query *query, struct control_figures *figures)
{
	CLEANUP_TEXT_LIST struct text_list left_out = {0};
	int r = catalog_get_totals(query->reader, &figures->totals);

	if (r == 0)
		r = catalog_count_pending(query->reader, &figures->pending,
					  &figures->pending_bytes);
	if (r == 0)
		r = folder_figures_get(&query->view->folders, query->reader, &figures->totals,
				       &figures->folders);
	if (r < 0)
		return expect_record(r);
	r = left_out_list(query->reader, query->view->sources, &left_out);
	figures->left_out = left_out.count;
	return r;
}

static int append_source(json_t *array, const struct source *source, bool no_ctime)
{
	uint64_t silent_ns = source_silent_ns(source);
	int64_t since_ns = clock_ns(clock_now()) - (int64_t)silent_ns;
	json_t *object = json_object();
	int r = object ? json_set_path(object, "path", source->path, strlen(source->path))
		       : -ENOMEM;

	if (r == 0)
		r = json_set_path(object, "tree", source->tree, strlen(source->tree));
	if (r == 0 && source->missing)
		r = json_set(object, "missing", json_true());
	if (r == 0 && source_lacks_moved(source))
		r = json_set(object, "moved", json_true());
	if (r == 0 && no_ctime)
		r = json_set(object, "no_ctime", json_true());
	if (r == 0 && silent_ns > 0)
		r = json_set_time(object, "silent_since",
				  (struct timespec){.tv_sec = since_ns / SECOND_NS});
	if (r < 0) {
		json_decref(object);
		return r;
	}
	return json_array_append_new(array, object) == 0 ? 0 : -ENOMEM;
}

static int set_sources(json_t *status, const struct view_query *query)
{
	const struct sources *sources = query->view->sources;
	json_t *array = json_array();
	int r = array ? 0 : -ENOMEM;

	for (size_t i = 0; i < sources->count && r == 0; i++)
		r = append_source(array, &sources->list[i],
				  source_lacks_ctime(sources, i, query->reader));
	if (r < 0) {
		json_decref(array);
		return r;
	}
	return json_set(status, "sources", array);
}

/* Sets the identity of the daemon and its paths. */
static int set_identity(json_t *status, const struct view_query *query)
{
	const struct view *view = query->view;
	const char *index = catalog_folder(view->catalog);
	int r = json_set_text(status, "version", TWINFS_VERSION);

	if (r == 0)
		r = json_set_number(status, "pid", (uint64_t)getpid());
	if (r == 0)
		r = json_set_number(status, "pid_namespace", pid_namespace());
	if (r == 0)
		r = json_set_path(status, "mountpoint", view->mount_point,
				  strlen(view->mount_point));
	if (r == 0)
		r = set_sources(status, query);
	if (r == 0)
		r = json_set_path(status, "index", index, strlen(index));
	if (r == 0)
		r = json_set_time(status, "since", view->since);
	if (r == 0 && view->confined)
		r = json_set_text(status, "confined", view->confined);
	return r;
}

static int set_keep_rules(json_t *status, const struct keep_rules *rules)
{
	const struct bytes *text = &rules->text;

	if (rules->count == 0)
		return json_set_text(status, "keep", "default");
	return json_set_path(status, "keep", (const char *)text->data, text->length);
}

/* Sets the progress of the first comparison while it runs. */
static int set_progress(json_t *status, const struct view *view)
{
	struct progress_counts counts;
	uint64_t elapsed_ns, seconds;
	int percent, r = 0;

	if (!view_first_comparison(view, &counts, &elapsed_ns))
		return 0;
	percent = progress_percent(&counts);
	if (percent >= 0)
		r = json_set_number(status, "percent", (uint64_t)percent);
	if (r == 0 && progress_seconds_left(&counts, elapsed_ns, &seconds))
		r = json_set_number(status, "seconds_left", seconds);
	return r;
}

static int set_counts(json_t *status, const struct control_figures *figures)
{
	const struct catalog_totals *totals = &figures->totals;
	const struct folder_figures *folders = &figures->folders;
	const struct {
		const char *key;
		uint64_t number;
	} counts[] = {
		{"folder_groups", folders->groups},
		{"redundant_folders", folders->redundant},
		{"redundant_folder_bytes", folders->redundant_bytes},
		{"files", totals->files},
		{"others", totals->others},
		{"directories", totals->directories},
		{"bytes", size_sum_bytes(&totals->bytes)},
		{"groups", totals->groups},
		{"redundant_files", totals->redundant_files},
		{"redundant_bytes", size_sum_bytes(&totals->redundant_bytes)},
		{"reclaimable_bytes", size_sum_bytes(&totals->reclaimable_bytes)},
		{"pending", figures->pending},
		{"errors", totals->errors},
		{"left_out_file_systems", figures->left_out},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(counts) && r == 0; i++)
		r = json_set_number(status, counts[i].key, counts[i].number);
	return r;
}

/* Sets what the last dry run of `dedupe --partial` found, if there was one. */
static int set_equal_parts(json_t *status, const struct catalog *catalog)
{
	struct equal_parts parts;
	json_t *object;
	int r = catalog_get_equal_parts(catalog, &parts);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	object = json_object();
	r = json_set(status, "equal_parts", object);
	if (r == 0)
		r = json_set_number(object, "runs", parts.runs);
	if (r == 0)
		r = json_set_number(object, "bytes", parts.bytes);
	if (r == 0)
		r = json_set_number(object, "block_bytes", parts.block_bytes);
	return r < 0 ? r : json_set_time(object, "time", parts.time);
}

/* Remedy if no program that watches the view gets events. */
#define UNSERVED_REMEDY "unmount the view and mount it again"

/* Sets the remedy for directories that could not be watched. */
static int set_remedy(json_t *status, const char *watch, uint64_t unwatched)
{
	struct inotify_limit limit = inotify_watches_max();
	CLEANUP_BYTES struct bytes text = {0};
	const char *remedy;
	int r;

	if (watch && strcmp(watch, "fanotify") == 0)
		return json_set_text(status, "remedy",
				     "name each file system as a source of its own");
	r = bytes_format(&text, "sysctl %s=%" PRIu64, limit.setting,
			 inotify_raised(limit.max, unwatched));

	remedy = r == 0 ? bytes_text(&text) : NULL;
	return remedy ? json_set_text(status, "remedy", remedy) : -ENOMEM;
}

static int append_unserved(json_t *array, const struct unserved_path *path)
{
	json_t *object = json_object();
	int r = object ? json_set_path(object, "path", path->path, strlen(path->path)) : -ENOMEM;

	if (r == 0)
		r = json_set_text(object, "reason", unserved_name(path->reason));
	if (r < 0) {
		json_decref(object);
		return r;
	}
	return json_array_append_new(array, object) == 0 ? 0 : -ENOMEM;
}

/* Sets which folders get no events, in part, and the remedy for the first reason. */
static int set_unserved_folders(json_t *status, const struct unserved *unserved)
{
	json_t *array = json_array();
	const char *remedy = NULL;
	uint64_t folders = 0;
	int r = array ? json_set(status, "unrefreshed_folders", array) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < unserved->count; i++)
		r = append_unserved(array, &unserved->paths[i]);
	for (int reason = UNSERVED_NONE + 1; reason < UNSERVED_REASONS; reason++) {
		folders += unserved->folders[reason];
		if (unserved->folders[reason] > 0 && !remedy)
			remedy = unserved_remedy((enum unserved_reason)reason);
	}
	if (r == 0)
		r = json_set_number(status, "unrefreshed", folders);
	return r == 0 && remedy ? json_set_text(status, "refresh_remedy", remedy) : r;
}

/* Sets what programs that watch the view do not get, if there is something. */
static int set_unserved(json_t *status, struct view *view)
{
	const struct unserved *unserved = &view->unserved;
	int r = 0;

	pthread_mutex_lock(&view->unserved_lock);
	if (unserved->failure) {
		r = json_set_text(status, "refresh_problem", error_text(unserved->failure));
		if (r == 0)
			r = json_set_text(status, "refresh_remedy", UNSERVED_REMEDY);
	} else if (unserved->folders[UNSERVED_NAMES] || unserved->folders[UNSERVED_CHANGES] ||
		   unserved->folders[UNSERVED_MEMORY]) {
		r = set_unserved_folders(status, unserved);
	}
	pthread_mutex_unlock(&view->unserved_lock);
	return r;
}

static int set_watch(json_t *status, struct view *view)
{
	uint64_t unwatched = view->unwatched;
	int r = json_set_number(status, "refreshed", view->watched_folders);

	if (r == 0)
		r = json_set_number(status, "refreshed_files", view->watched_files);
	if (r == 0)
		r = set_unserved(status, view);
	if (r == 0)
		r = json_set_text(status, "watch", view->watch);
	if (r == 0)
		r = json_set_number(status, "overflows",
				    view->currency ? view->currency->overflows : 0);
	if (r < 0 || unwatched == 0)
		return r;
	r = json_set_number(status, "unwatched", unwatched);
	return r < 0 ? r : set_remedy(status, view->watch, unwatched);
}

/* Sets how files are read, and hints for more speed. */
static int set_reading(json_t *status, const struct view *view)
{
	const char *const *advice = view->advice;
	json_t *array = json_array();
	int r = json_set_text(status, "read_mode", view->read_mode);

	if (r == 0)
		r = json_set_text(status, "transport", view->transport);
	if (r == 0)
		r = json_set(status, "shared", json_boolean(view->shared));
	for (; r == 0 && advice && *advice; advice++)
		r = json_array_append_new(array, json_string(*advice)) == 0 ? 0 : -ENOMEM;
	if (r < 0) {
		json_decref(array);
		return r;
	}
	return json_set(status, "advice", array);
}

static int build_status(const struct view_query *query, json_t *status)
{
	struct view *view = query->view;
	struct control_figures figures = {0};
	int r = gather(query, &figures);

	if (r == 0)
		r = json_set_text(status, "state", state_names[view_get_state(view)]);
	if (r == 0 && view->problem)
		r = json_set_text(status, "problem", error_text(view->problem));
	if (r == 0)
		r = set_progress(status, view);
	if (r == 0)
		r = json_set_number(status, "generation", figures.totals.generation);
	if (r == 0)
		r = set_identity(status, query);
	if (r == 0)
		r = set_keep_rules(status, view->keep_rules);
	if (r == 0)
		r = set_counts(status, &figures);
	if (r == 0)
		r = set_equal_parts(status, view->catalog);
	if (r == 0)
		r = set_reading(status, view);
	if (r == 0)
		r = set_watch(status, view);
	return r;
}

int control_status(const struct view_query *query, struct bytes *content)
{
	json_t *status = json_object();
	int r = status ? build_status(query, status) : -ENOMEM;

	if (r == 0)
		r = json_append_line(content, status, JSON_INDENT(2));
	json_decref(status);
	return r;
}

/* ---- metrics and sync --------------------------------------------------------------- */

struct metric {
	const char *name, *type, *help;
	uint64_t value;
};

/* The text, and the label of the view that each sample has. */
struct metrics {
	struct bytes *content; /* borrowed */
	struct bytes label; /* view="...", without braces */
};

static void metrics_deinit(struct metrics *metrics)
{
	bytes_free(&metrics->label);
}

/* Appends a label. A value must be UTF-8, so other bytes become U+FFFD. */
static int append_label(struct bytes *labels, const char *name, const char *value)
{
	size_t left = strlen(value), length;
	int r = bytes_format(labels, "%s=\"", name);
	uint32_t code;

	for (; r == 0 && left > 0; value += length, left -= length) {
		length = utf8_decode(value, left, &code);
		if (length == 0) {
			length = 1;
			r = bytes_append_text(labels, "\xef\xbf\xbd");
		} else if (*value == '\n') {
			r = bytes_append_text(labels, "\\n");
		} else {
			if (*value == '\\' || *value == '"')
				r = bytes_append_text(labels, "\\");
			if (r == 0)
				r = bytes_append(labels, value, length);
		}
	}
	return r < 0 ? r : bytes_append_text(labels, "\"");
}

static int append_header(struct metrics *metrics, const char *name, const char *type,
			 const char *help)
{
	return bytes_format(metrics->content, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
			    type);
}

/* Appends a sample with a further label, unless its name is NULL. */
static int append_sample(struct metrics *metrics, const char *name, const char *label,
			 const char *label_value, uint64_t value)
{
	int r = bytes_format(metrics->content, "%s{%s", name, bytes_text(&metrics->label));

	if (r == 0 && label)
		r = bytes_append_text(metrics->content, ",");
	if (r == 0 && label)
		r = append_label(metrics->content, label, label_value);
	return r < 0 ? r : bytes_format(metrics->content, "} %" PRIu64 "\n", value);
}

static int append_metric(struct metrics *metrics, const struct metric *metric)
{
	int r = append_header(metrics, metric->name, metric->type, metric->help);

	return r < 0 ? r : append_sample(metrics, metric->name, NULL, NULL, metric->value);
}

static int append_state(struct metrics *metrics, enum view_state state)
{
	int r = append_header(metrics, "twinfs_state", "gauge",
			      "1 for the current state of the daemon, 0 for all others.");

	for (size_t i = 0; i < ARRAY_SIZE(state_names) && r == 0; i++)
		r = append_sample(metrics, "twinfs_state", "state", state_names[i], i == state);
	return r;
}

static bool is_lack_of_space(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

static int append_problem(struct metrics *metrics, const struct view *view)
{
	int error = view->problem;
	const struct {
		const char *reason;
		bool holds;
	} problems[] = {
		{"index-full", is_lack_of_space(error)},
		{"index-failed", error && !is_lack_of_space(error)},
		{"source-missing", sources_missing(view->sources) > 0},
		{"source-silent", sources_silent(view->sources) > 0},
	};
	int r = append_header(metrics, "twinfs_problem", "gauge",
			      "1 if this prevents the view from following its sources, 0 if not.");

	for (size_t i = 0; i < ARRAY_SIZE(problems) && r == 0; i++)
		r = append_sample(metrics, "twinfs_problem", "reason", problems[i].reason,
				  problems[i].holds);
	return r;
}

static int append_sources(struct metrics *metrics, const struct sources *sources)
{
	int r = append_header(metrics, "twinfs_source_missing", "gauge",
			      "1 if the source was removed, unmounted or replaced, 0 if not.");

	for (size_t i = 0; i < sources->count && r == 0; i++)
		r = append_sample(metrics, "twinfs_source_missing", "source", sources->list[i].path,
				  sources->list[i].missing);
	if (r == 0)
		r = append_header(metrics, "twinfs_source_silent", "gauge",
				  "1 if the file system of the source does not answer, 0 if not.");
	for (size_t i = 0; i < sources->count && r == 0; i++)
		r = append_sample(metrics, "twinfs_source_silent", "source", sources->list[i].path,
				  source_silent_ns(&sources->list[i]) > 0);
	return r;
}

/* Appends how current the view is, in seconds; the age to the millisecond. */
static int append_currency(struct metrics *metrics, const struct currency *currency)
{
	const struct metric walk = {"twinfs_last_full_walk_timestamp_seconds", "gauge",
				    "Time since which each source was walked.",
				    currency ? (uint64_t)currency->checked_s : 0};
	uint64_t lag_ms = currency ? currency_lag_ns(currency) / MS_NS : 0;
	int r = append_metric(metrics, &walk);

	if (r == 0)
		r = append_header(metrics, "twinfs_event_lag_seconds", "gauge",
				  "Age of the oldest event that is not in the view yet.");
	return r < 0 ? r
		     : bytes_format(metrics->content,
				    "twinfs_event_lag_seconds{%s} %" PRIu64 ".%03u\n",
				    bytes_text(&metrics->label), lag_ms / 1000,
				    (unsigned int)(lag_ms % 1000));
}

static int append_build_info(struct metrics *metrics)
{
	int r = append_header(metrics, "twinfs_build_info", "gauge", "1; the version is a label.");

	return r < 0 ? r
		     : append_sample(metrics, "twinfs_build_info", "version", TWINFS_VERSION, 1);
}

/* Appends what programs that watch the view do not get. */
static int append_unserved_metrics(struct metrics *metrics, struct view *view)
{
	const struct unserved *unserved = &view->unserved;
	struct metric failed = {"twinfs_refresh_failed", "gauge",
				"1 if programs that watch the view get no events, 0 if not.", 0};
	int r = append_header(metrics, "twinfs_unrefreshed_folders", "gauge",
			      "Watched folders of the view that do not get all events.");

	pthread_mutex_lock(&view->unserved_lock);
	for (int i = UNSERVED_NONE + 1; r == 0 && i < UNSERVED_REASONS; i++)
		r = append_sample(metrics, "twinfs_unrefreshed_folders", "reason",
				  unserved_name((enum unserved_reason)i), unserved->folders[i]);
	failed.value = unserved->failure != 0;
	pthread_mutex_unlock(&view->unserved_lock);
	return r < 0 ? r : append_metric(metrics, &failed);
}

/* Returns the number of directories without events: all directories with --watch=poll or none. */
static uint64_t count_unwatched(const struct view *view, uint64_t directories)
{
	const char *watch = view->watch;

	return strcmp(watch, "none") == 0 || strcmp(watch, "poll") == 0 ? directories
									: view->unwatched;
}

static int append_figures(struct metrics *text, const struct control_figures *figures,
			  uint64_t unwatched)
{
	const struct catalog_totals *totals = &figures->totals;
	const struct folder_figures *folders = &figures->folders;
	uint64_t directories = totals->directories;
	const struct metric metrics[] = {
		{"twinfs_files", "gauge", "Regular files in the sources, hard links counted once.",
		 totals->files},
		{"twinfs_others", "gauge", "Symbolic links and special files in the sources.",
		 totals->others},
		{"twinfs_directories", "gauge", "Directories in the sources.", directories},
		{"twinfs_bytes", "gauge", "Bytes in regular files, hard links counted once.",
		 size_sum_bytes(&totals->bytes)},
		{"twinfs_groups", "gauge", "Groups of equal files.", totals->groups},
		{"twinfs_redundant_files", "gauge",
		 "Copies other than the kept copy of each group.", totals->redundant_files},
		{"twinfs_redundant_bytes", "gauge",
		 "Bytes in copies other than the kept copy of each group.",
		 size_sum_bytes(&totals->redundant_bytes)},
		{"twinfs_reclaimable_bytes", "gauge",
		 "Bytes that removing the redundant copies would free.",
		 size_sum_bytes(&totals->reclaimable_bytes)},
		{"twinfs_errors", "gauge", "Files and directories that could not be read.",
		 totals->errors},
		{"twinfs_generation_total", "counter", "Commits that changed something.",
		 totals->generation},
		{"twinfs_pending_files", "gauge", "Files that wait to be compared.",
		 figures->pending},
		{"twinfs_pending_bytes", "gauge", "Bytes in files that wait to be compared.",
		 figures->pending_bytes},
		{"twinfs_watched_directories", "gauge",
		 "Directories whose changes are reported by events.",
		 unwatched < directories ? directories - unwatched : 0},
		{"twinfs_unwatched_directories", "gauge",
		 "Directories whose changes cause no event.", unwatched},
		{"twinfs_folder_groups", "gauge",
		 "Groups of equal folders, without those that other groups imply.",
		 folders->groups},
		{"twinfs_redundant_folders", "gauge",
		 "Folders that are whole copies of others, those in such folders not counted.",
		 folders->redundant},
		{"twinfs_redundant_folder_bytes", "gauge",
		 "Bytes in files of these folders, at most the redundant bytes.",
		 folders->redundant_bytes},
		{"twinfs_left_out_file_systems", "gauge",
		 "File systems below the sources that the index leaves out.", figures->left_out},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(metrics) && r == 0; i++)
		r = append_metric(text, &metrics[i]);
	return r;
}

/* Appends what is not in the index. */
static int append_daemon(struct metrics *metrics, struct view *view)
{
	int r = append_state(metrics, view_get_state(view));

	if (r == 0)
		r = append_problem(metrics, view);
	if (r == 0)
		r = append_unserved_metrics(metrics, view);
	if (r == 0)
		r = append_sources(metrics, view->sources);
	if (r == 0)
		r = append_currency(metrics, view->currency);
	return r < 0 ? r : append_build_info(metrics);
}

int control_metrics(const struct view_query *query, struct bytes *content)
{
	CLEANUP(metrics_deinit) struct metrics metrics = {.content = content};
	struct control_figures figures = {0};
	int r = gather(query, &figures);

	if (r == 0)
		r = append_label(&metrics.label, "view", query->view->mount_point);
	if (r == 0 && !bytes_text(&metrics.label))
		r = -ENOMEM;
	if (r == 0)
		r = append_figures(&metrics, &figures,
				   count_unwatched(query->view, figures.totals.directories));
	return r < 0 ? r : append_daemon(&metrics, query->view);
}

int control_sync(const struct view_query *query, struct bytes *content)
{
	struct catalog_totals totals;
	int r = catalog_get_totals(query->reader, &totals);

	return r < 0 ? expect_record(r) : bytes_format(content, "%" PRIu64 "\n", totals.generation);
}

/* ---- lines: README.txt, errors and pending ------------------------------------------ */

/* Begins an object with the path of a node. *object is NULL if the node has no name any more. */
static int begin_line(const struct view_query *query, uint64_t node, json_t **object)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r = source_path_of(query, node, &path);

	*object = NULL;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	*object = json_object();
	if (!*object)
		return -ENOMEM;
	r = json_set_path(*object, "path", (const char *)path.data, path.length);
	if (r < 0)
		json_decref(TAKE(*object));
	return r;
}

/* ---- README.txt --------------------------------------------------------------------- */

const char control_readme[] =
	"This folder is a view of other folders, made by twinfs. It shows which of their\n"
	"files are equal: twinfs compared them byte by byte, and follows each change.\n"
	"Nothing is stored here. Nothing can be changed or deleted here, so it is safe to\n"
	"look around, to open files and to copy them.\n"
	"\n"
	"by-size     Equal files, those that waste the most space first. Begin here.\n"
	"folders     Whole folders that are equal.\n"
	"dups        The same groups of equal files, each in a folder that is named by a\n"
	"            hash of the content. A copy is named by the path of the file, for\n"
	"            example Photos\342\210\2252019\342\210\225img.jpg. (kept) marks the copy that "
	"would stay.\n"
	"uniques     Your files, each content once. It is all that a backup needs.\n"
	"redundant   The copies that uniques leaves out.\n"
	"report.html A page for a browser: where the space is, and what to do next.\n"
	".twinfs     Hidden. It has files for programs.\n"
	"\n"
	"dups, uniques and redundant are all that other users see of a shared view.\n"
	"\n"
	"While files are still compared, by-size and folders are not complete.\n"
	"\n"
	"To free space, select files or folders here in a file manager, and choose \"Move\n"
	"redundant copies to trash\". To end the view, choose \"Stop showing equal files\".\n"
	"If the menu has no such actions: man twinfs describes them in FILE MANAGERS.\n"
	"\n"
	"The same in a terminal, where V is this folder:\n"
	"\n"
	"    twinfs remove --dry-run V    shows what would go and what would stay\n"
	"    twinfs remove --trash V      moves copies to the trash, after a question\n"
	"    twinfs undo                  takes that back\n"
	"    twinfs unmount V             ends the view\n"
	"    du V/uniques                 measures the files without redundant copies\n"
	"\n"
	"du of V itself counts files more than once, as several folders have them.\n"
	"\n"
	"man twinfs has the rest, with many examples.\n";

/* ---- errors ------------------------------------------------------------------------- */

static int append_error(const struct view_query *query, const struct error_entry *error,
			struct bytes *content)
{
	enum node_kind kind = error->kind == ERROR_DIR ? NODE_DIR : NODE_FILE;
	json_t *object;
	int r = begin_line(query, node_make(kind, error->id), &object);

	if (r < 0 || !object)
		return r;
	r = json_set_text(object, "error", error_name(error->error));
	if (r == 0)
		r = json_set_text(object, "message", error_text(error->error));
	if (r == 0)
		r = json_append_line(content, object, JSON_COMPACT);
	json_decref(object);
	return r;
}

int control_errors(const struct view_query *query, struct bytes *content)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct error_entry error;
	int r = catalog_scan_errors(query->reader, &scan);

	while (r == 0 && (r = catalog_next_error(scan, &error)) == 0)
		r = append_error(query, &error, content);
	return r == -ENOENT ? 0 : r;
}

/* ---- pending ------------------------------------------------------------------------ */

static int append_pending(const struct view_query *query, const struct size_entry *entry,
			  struct bytes *content)
{
	json_t *object;
	int error, r = catalog_get_error(query->reader, ERROR_FILE, entry->file, &error);

	if (r < 0 || error) /* an unreadable file does not wait for comparison */
		return r;
	r = begin_line(query, node_make(NODE_FILE, entry->file), &object);
	if (r < 0 || !object)
		return r;
	r = json_set_number(object, "size", entry->size);
	if (r == 0)
		r = json_append_line(content, object, JSON_COMPACT);
	json_decref(object);
	return r;
}

/* Files of one size are sorted with unread ones first. An unread file waits only if another file
 * has the same size. For the first file of a size, this is known at the next entry. */
static int append_all_pending(const struct view_query *query, struct catalog_scan *scan,
			      struct bytes *content)
{
	struct size_entry entry, before = {0};
	bool waits = false, paired = false;
	int r;

	while ((r = catalog_next_size(scan, &entry)) == 0) {
		bool same = before.file && before.size == entry.size;

		if (same && !paired && waits)
			r = append_pending(query, &before, content);
		paired = same;
		waits = entry.prefix == 0;
		if (r == 0 && paired && waits)
			r = append_pending(query, &entry, content);
		if (r < 0)
			return r;
		before = entry;
	}
	return r == -ENOENT ? 0 : r;
}

int control_pending(const struct view_query *query, struct bytes *content)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct size_entry from = {.size = 0};
	int r = catalog_get_min_size(query->reader, &from.size);

	if (r == 0)
		r = catalog_scan_sizes(query->reader, &from, &scan);
	if (r < 0)
		return expect_record(r);
	return append_all_pending(query, scan, content);
}
