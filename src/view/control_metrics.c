/* SPDX-License-Identifier: MIT */

/* .twinfs/metrics and .twinfs/sync. */

#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "view/control.h"

struct metric {
	const char *name, *type, *help;
	uint64_t value;
};

static int append_header(struct bytes *content, const char *name, const char *type,
			 const char *help)
{
	return bytes_format(content, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static int append_metric(struct bytes *content, const struct metric *metric)
{
	int r = append_header(content, metric->name, metric->type, metric->help);

	return r < 0 ? r : bytes_format(content, "%s %" PRIu64 "\n", metric->name, metric->value);
}

static int append_state(struct bytes *content, enum view_state state)
{
	const char *current = control_state_name(state);
	int r = append_header(content, "twinfs_state", "gauge",
			      "1 for the current state of the daemon, 0 for all others.");

	for (size_t i = 0; control_state_names[i] && r == 0; i++)
		r = bytes_format(content, "twinfs_state{state=\"%s\"} %d\n", control_state_names[i],
				 control_state_names[i] == current);
	return r;
}

/* Returns the number of directories without events: all directories with --watch=poll or none. */
static uint64_t count_unwatched(const struct view *view, uint64_t directories)
{
	const char *watch = view->watch;

	return strcmp(watch, "none") == 0 || strcmp(watch, "poll") == 0 ? directories
									: view->unwatched;
}

static int append_folders(struct bytes *content, const struct folder_figures *folders)
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
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(metrics) && r == 0; i++)
		r = append_metric(content, &metrics[i]);
	return r;
}

static int append_metrics(struct bytes *content, const struct catalog_totals *totals,
			  uint64_t pending, uint64_t pending_bytes, uint64_t unwatched)
{
	uint64_t directories = totals->directories;
	const struct metric metrics[] = {
		{"twinfs_files", "gauge", "Files in the sources, hard links counted once.",
		 totals->files},
		{"twinfs_directories", "gauge", "Directories in the sources.", directories},
		{"twinfs_bytes", "gauge", "Bytes in regular files, hard links counted once.",
		 size_sum_bytes(&totals->bytes)},
		{"twinfs_groups", "gauge", "Groups of equal files.", totals->groups},
		{"twinfs_redundant_files", "gauge",
		 "Copies other than the kept copy of each group.", totals->redundant_files},
		{"twinfs_redundant_bytes", "gauge",
		 "Bytes in copies other than the kept copy of each group.",
		 size_sum_bytes(&totals->redundant_bytes)},
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
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(metrics) && r == 0; i++)
		r = append_metric(content, &metrics[i]);
	return r;
}

int control_metrics(const struct view_query *query, struct bytes *content)
{
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
	r = append_metrics(content, &totals, pending, pending_bytes,
			   count_unwatched(query->view, totals.directories));
	if (r == 0)
		r = append_folders(content, &folders);
	return r < 0 ? r : append_state(content, view_get_state(query->view));
}

int control_sync(const struct view_query *query, struct bytes *content)
{
	struct catalog_totals totals;
	int r = catalog_get_totals(query->reader, &totals);

	return r < 0 ? expect_record(r) : bytes_format(content, "%" PRIu64 "\n", totals.generation);
}
