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
#include "catalog/blocks.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "row/json_path.h"
#include "row/json_text.h"
#include "source/mounts.h"
#include "source/source.h"
#include "source/source_change.h"
#include "view/control.h"

const char *const control_state_names[] = {
	[VIEW_WALKING] = "walking",
	[VIEW_COMPARING] = "comparing",
	[VIEW_CURRENT] = "current",
	[VIEW_SOURCE_SILENT] = "source-silent",
	[VIEW_SOURCE_MISSING] = "source-missing",
	[VIEW_STUCK] = "stuck",
	NULL,
};

const char *control_state_name(enum view_state state)
{
	return control_state_names[state];
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
		r = json_object_set_new(object, "missing", json_true()) == 0 ? 0 : -ENOMEM;
	if (r == 0 && source_lacks_moved(source))
		r = json_object_set_new(object, "moved", json_true()) == 0 ? 0 : -ENOMEM;
	if (r == 0 && no_ctime)
		r = json_object_set_new(object, "no_ctime", json_true()) == 0 ? 0 : -ENOMEM;
	if (r == 0 && silent_ns > 0)
		r = json_set_time(object, "silent_since",
				  (struct timespec){.tv_sec = since_ns / SECOND_NS});
	if (r < 0) {
		json_decref(object);
		return r;
	}
	return json_array_append_new(array, object) == 0 ? 0 : -ENOMEM;
}

static int set_sources(json_t *status, const struct sources *sources)
{
	json_t *array = json_array();
	int r = array ? 0 : -ENOMEM;

	for (size_t i = 0; i < sources->count && r == 0; i++)
		r = append_source(array, &sources->list[i], source_lacks_ctime(sources, i));
	if (r < 0) {
		json_decref(array);
		return r;
	}
	return json_object_set_new(status, "sources", array) == 0 ? 0 : -ENOMEM;
}

/* Sets the identity of the daemon and its paths. */
static int set_identity(json_t *status, const struct view *view)
{
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
		r = set_sources(status, view->sources);
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

static int set_counts(json_t *status, const struct catalog_totals *totals,
		      const struct folder_figures *folders, uint64_t pending)
{
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
		{"pending", pending},
		{"errors", totals->errors},
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
	if (json_object_set_new(status, "equal_parts", object) < 0)
		return -ENOMEM;
	r = json_set_number(object, "runs", parts.runs);
	if (r == 0)
		r = json_set_number(object, "bytes", parts.bytes);
	if (r == 0)
		r = json_set_number(object, "block_bytes", parts.block_bytes);
	return r < 0 ? r : json_set_time(object, "time", parts.time);
}

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

static int set_watch(json_t *status, const struct view *view)
{
	uint64_t unwatched = view->unwatched;
	int r = json_set_number(status, "refreshed", view->watched_folders);

	if (r == 0)
		r = json_set_text(status, "watch", view->watch);
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
		r = json_object_set_new(status, "shared", json_boolean(view->shared)) == 0
			    ? 0
			    : -ENOMEM;
	for (; r == 0 && advice && *advice; advice++)
		r = json_array_append_new(array, json_string(*advice)) == 0 ? 0 : -ENOMEM;
	if (r < 0) {
		json_decref(array);
		return r;
	}
	return json_object_set_new(status, "advice", array) == 0 ? 0 : -ENOMEM;
}

/* Counts the file systems below the sources that the index leaves out. */
static int set_left_out(const struct view_query *query, json_t *status)
{
	CLEANUP_TEXT_LIST struct text_list paths = {0};
	int r = left_out_list(query->reader, query->view->sources, &paths);

	return r < 0 ? r : json_set_number(status, "left_out_file_systems", paths.count);
}

static int build_status(const struct view_query *query, json_t *status)
{
	struct view *view = query->view;
	struct catalog_totals totals;
	struct folder_figures folders = {0};
	uint64_t pending = 0, pending_bytes;
	int r = catalog_get_totals(query->reader, &totals);

	if (r == 0)
		r = catalog_count_pending(query->reader, &pending, &pending_bytes);
	if (r == 0)
		r = folder_figures_get(&view->folders, query->reader, &totals, &folders);
	if (r < 0)
		return expect_record(r);
	r = json_set_text(status, "state", control_state_name(view_get_state(view)));
	if (r == 0 && view->problem)
		r = json_set_text(status, "problem", error_text(view->problem));
	if (r == 0)
		r = set_progress(status, view);
	if (r == 0)
		r = json_set_number(status, "generation", totals.generation);
	if (r == 0)
		r = set_identity(status, view);
	if (r == 0)
		r = set_keep_rules(status, view->keep_rules);
	if (r == 0)
		r = set_counts(status, &totals, &folders, pending);
	if (r == 0)
		r = set_left_out(query, status);
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
