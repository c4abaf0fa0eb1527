/* SPDX-License-Identifier: MIT */

/* .twinfs/metrics and .twinfs/sync. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/numbers.h"
#include "base/text.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "source/mounts.h"
#include "source/source.h"
#include "view/control.h"
#include "view/currency.h"

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

static int append_list(struct metrics *metrics, const struct metric *list, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = append_metric(metrics, &list[i]);
	return r;
}

static int append_state(struct metrics *metrics, enum view_state state)
{
	const char *current = control_state_name(state);
	int r = append_header(metrics, "twinfs_state", "gauge",
			      "1 for the current state of the daemon, 0 for all others.");

	for (size_t i = 0; control_state_names[i] && r == 0; i++)
		r = append_sample(metrics, "twinfs_state", "state", control_state_names[i],
				  control_state_names[i] == current);
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

/* Returns the number of directories without events: all directories with --watch=poll or none. */
static uint64_t count_unwatched(const struct view *view, uint64_t directories)
{
	const char *watch = view->watch;

	return strcmp(watch, "none") == 0 || strcmp(watch, "poll") == 0 ? directories
									: view->unwatched;
}

static int append_folders(struct metrics *text, const struct folder_figures *folders)
{
	const struct metric metrics[] = {
		{"twinfs_folder_groups", "gauge",
		 "Groups of equal folders, without those that other groups imply.",
		 folders->groups},
		{"twinfs_redundant_folders", "gauge",
		 "Folders that are whole copies of others, those in such folders not counted.",
		 folders->redundant},
		{"twinfs_redundant_folder_bytes", "gauge",
		 "Bytes in files of these folders, at most the redundant bytes.",
		 folders->redundant_bytes},
	};

	return append_list(text, metrics, ARRAY_SIZE(metrics));
}

static int append_left_out(struct metrics *metrics, const struct view_query *query)
{
	CLEANUP_TEXT_LIST struct text_list paths = {0};
	int r = left_out_list(query->reader, query->view->sources, &paths);
	const struct metric metric = {"twinfs_left_out_file_systems", "gauge",
				      "File systems below the sources that the index leaves out.",
				      paths.count};

	return r < 0 ? r : append_list(metrics, &metric, 1);
}

static int append_totals(struct metrics *text, const struct catalog_totals *totals,
			 uint64_t pending, uint64_t pending_bytes, uint64_t unwatched)
{
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
		{"twinfs_pending_files", "gauge", "Files that wait to be compared.", pending},
		{"twinfs_pending_bytes", "gauge", "Bytes in files that wait to be compared.",
		 pending_bytes},
		{"twinfs_watched_directories", "gauge",
		 "Directories whose changes are reported by events.",
		 unwatched < directories ? directories - unwatched : 0},
		{"twinfs_unwatched_directories", "gauge",
		 "Directories whose changes cause no event.", unwatched},
	};

	return append_list(text, metrics, ARRAY_SIZE(metrics));
}

/* Appends what is not in the index. */
static int append_daemon(struct metrics *metrics, const struct view *view)
{
	int r = append_state(metrics, view_get_state(view));

	if (r == 0)
		r = append_problem(metrics, view);
	if (r == 0)
		r = append_sources(metrics, view->sources);
	if (r == 0)
		r = append_currency(metrics, view->currency);
	return r < 0 ? r : append_build_info(metrics);
}

int control_metrics(const struct view_query *query, struct bytes *content)
{
	CLEANUP(metrics_deinit) struct metrics metrics = {.content = content};
	struct catalog_totals totals;
	struct folder_figures folders = {0};
	uint64_t pending = 0, pending_bytes = 0;
	int r = catalog_get_totals(query->reader, &totals);

	if (r == 0)
		r = catalog_count_pending(query->reader, &pending, &pending_bytes);
	if (r == 0)
		r = folder_figures_get(&query->view->folders, query->reader, &totals, &folders);
	if (r < 0)
		return expect_record(r);
	r = append_label(&metrics.label, "view", query->view->mount_point);
	if (r == 0 && !bytes_text(&metrics.label))
		r = -ENOMEM;
	if (r == 0)
		r = append_totals(&metrics, &totals, pending, pending_bytes,
				  count_unwatched(query->view, totals.directories));
	if (r == 0)
		r = append_folders(&metrics, &folders);
	if (r == 0)
		r = append_left_out(&metrics, query);
	return r < 0 ? r : append_daemon(&metrics, query->view);
}

int control_sync(const struct view_query *query, struct bytes *content)
{
	struct catalog_totals totals;
	int r = catalog_get_totals(query->reader, &totals);

	return r < 0 ? expect_record(r) : bytes_format(content, "%" PRIu64 "\n", totals.generation);
}
