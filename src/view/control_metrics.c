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

static int append_totals(struct bytes *content, const struct catalog_totals *totals)
{
	const struct metric metrics[] = {
		{"twinfs_files", "gauge", "Files in the sources, hard links counted once.",
		 totals->files},
		{"twinfs_directories", "gauge", "Directories in the sources.", totals->directories},
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
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(metrics) && r == 0; i++)
		r = append_metric(content, &metrics[i]);
	return r;
}

static bool is_watched(const struct view *view)
{
	const char *watch = view->watch;

	return strcmp(watch, "none") != 0 && strcmp(watch, "poll") != 0;
}

/* Appends the numbers of directories with and without events. With --watch=poll or none, no
 * directory has events. */
static int append_watch(struct bytes *content, const struct view *view, uint64_t directories)
{
	uint64_t unwatched = is_watched(view) ? view->unwatched : directories;
	const struct metric metrics[] = {
		{"twinfs_watched_directories", "gauge",
		 "Directories whose changes are reported by events.",
		 directories - (unwatched < directories ? unwatched : directories)},
		{"twinfs_unwatched_directories", "gauge",
		 "Directories whose changes cause no event.", unwatched},
	};
	int r = append_metric(content, &metrics[0]);

	return r < 0 ? r : append_metric(content, &metrics[1]);
}

int control_metrics(const struct view_query *query, struct bytes *content)
{
	struct metric files = {"twinfs_pending_files", "gauge", "Files that wait to be compared.",
			       0};
	struct metric bytes = {"twinfs_pending_bytes", "gauge",
			       "Bytes in files that wait to be compared.", 0};
	struct catalog_totals totals;
	int r = catalog_get_totals(query->reader, &totals);

	if (r == 0)
		r = catalog_count_pending(query->reader, &files.value, &bytes.value);
	if (r < 0)
		return expect_record(r);
	r = append_totals(content, &totals);
	if (r == 0)
		r = append_metric(content, &files);
	if (r == 0)
		r = append_metric(content, &bytes);
	if (r == 0)
		r = append_watch(content, query->view, totals.directories);
	return r < 0 ? r : append_state(content, view_get_state(query->view));
}

int control_sync(const struct view_query *query, struct bytes *content)
{
	struct catalog_totals totals;
	int r = catalog_get_totals(query->reader, &totals);

	return r < 0 ? expect_record(r) : bytes_format(content, "%" PRIu64 "\n", totals.generation);
}
