/* SPDX-License-Identifier: MIT */
#include "cli/current_index.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/terminal.h"
#include "catalog/query.h"
#include "cli/completeness.h"
#include "cli/interrupt.h"
#include "cli/status_file.h"
#include "cli/view_sync.h"
#include "mount/point.h"
#include "report/words.h"

/* ---- one that another process keeps ------------------------------------------------------- */

/* Says that the index may lack what happened last, and why; to be done about it is the same in each
 * case. */
static void say_unfinished(const char *mount_point, int result)
{
	if (mount_point == NULL || mount_point[0] == '\0')
		log_warning("another process is changing this index: try again when it has ended");
	else if (result == -ENOENT)
		log_warning("the view at %s, which keeps this index, is not there: try again "
			    "when it is mounted, or has ended",
			    quote_path(mount_point));
	else
		log_warning("the view at %s, which keeps this index, cannot bring it up to date: "
			    "%s; see 'twinfs status'",
			    quote_path(mount_point), error_text(result));
}

/* Tells somebody at a terminal what it takes so long. */
static void say_waiting(const char *mount_point)
{
	json_auto_t *status = NULL;
	char count[NUMBER_TEXT_MAX];
	uint64_t pending;

	if (terminal_width(STDERR_FILENO) == 0 || status_file_read(mount_point, &status) < 0)
		return;
	pending = status_file_number(status, "pending");
	if (pending > 0 && strcmp(status_file_text(status, "state"), "comparing") == 0)
		log_info("waiting for the view at %s, which is still to compare %s %s",
			 quote_path(mount_point), number_format(count, pending),
			 plural(pending, "file", "files"));
}

static int sync_view(struct current_index *index, const char *mount_point)
{
	if (mount_point[0] == '\0')
		return -ENOENT;
	if (!index->synced)
		say_waiting(mount_point);
	return view_sync(mount_point);
}

int current_index_sync(struct current_index *index)
{
	const char *folder = catalog_folder(index->catalog);
	AUTO_FREE char *mount_point = NULL;
	pid_t pid = 0;
	int r = catalog_owner(folder, &pid, &mount_point);

	if (r == 0 && pid == 0)
		return 0; /* nobody changes it */
	r = r == 0 ? sync_view(index, mount_point) : -ENOENT;
	if (r == -EINTR)
		return r;
	index->unfinished = r < 0;
	if (index->synced)
		return 0;
	index->synced = true;
	if (r < 0)
		say_unfinished(mount_point, r);
	else
		log_info("process %d keeps this index current for the view at %s", (int)pid,
			 quote_path(mount_point));
	return 0;
}

static void say_unreadable(const char *folder, int result)
{
	log_error("cannot read the index %s: %s", quote_path(folder), error_text(result));
}

static int name_errors(const struct current_index *index)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct catalog_totals totals = {0};
	int r;

	r = catalog_read_begin(index->catalog, &reader);
	if (r == 0)
		r = catalog_get_totals(reader, &totals);
	if (r < 0)
		return r;
	return totals.errors > 0 ? completeness_name_errors(reader, index->sources) : 0;
}

/* Whether the index is that of the sources the user named; if not, says so. */
static int check_sources(const struct current_index *index, const char *folder)
{
	const struct sources *sources = index->sources;
	char *const *resolved = index->indexing.paths;
	size_t i = 0;

	if (index->given_count == 0)
		return 0;
	while (i < sources->count && resolved[i] != NULL &&
	       strcmp(sources->list[i].path, resolved[i]) == 0)
		i++;
	if (i == sources->count && resolved[i] == NULL)
		return 0;
	log_error("the index %s is not that of these sources; choose another with --index",
		  quote_path(folder));
	return -EXDEV;
}

int current_index_attach(struct current_index *index)
{
	const char *folder = index->indexing.folder;
	int r;

	index->served = true;
	r = indexing_open_read_only(folder, &index->catalog);
	if (r != 0) {
		indexing_explain(folder, r);
		return r < 0 ? r : -EIO;
	}
	r = sources_open(&index->served_sources, index->catalog, NULL,
			 index->indexing.settings->cross_file_systems);
	index->sources = &index->served_sources;
	if (r < 0) {
		say_unreadable(folder, r);
		return r;
	}
	return check_sources(index, folder);
}

static int open_served(struct current_index *index)
{
	int r = current_index_attach(index);

	if (r < 0)
		return r;
	r = current_index_sync(index);
	if (r == 0)
		r = name_errors(index);
	if (r < 0 && r != -EINTR)
		say_unreadable(index->indexing.folder, r);
	return r;
}

/* ---- one of our own ---------------------------------------------------------------------- */

static int open_own(struct current_index *index)
{
	struct indexing *indexing = &index->indexing;
	int r;

	interrupt_watch();
	r = indexing_open(indexing);
	if (r == INDEXING_IN_USE)
		return open_served(index);
	if (r == 0)
		r = indexing_update(indexing, NULL);
	index->catalog = indexing->catalog;
	index->sources = &indexing->sources;
	return r;
}

/* ---- which one ---------------------------------------------------------------------------- */

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

static int locate_view_index(struct current_index *index, const char *point)
{
	CLEANUP_BYTES struct bytes folder = {0};
	int r = status_file_index(point, &folder);

	if (r < 0) {
		status_file_explain(point, r == -ENOENT ? -EPROTO : r);
		return r;
	}
	index->served = true;
	index->indexing.folder = bytes_text(&folder) != NULL ? strdup(bytes_text(&folder)) : NULL;
	return index->indexing.folder != NULL ? 0 : -ENOMEM;
}

int current_index_locate(struct current_index *index, const struct common_settings *settings,
			 char *const *operands, size_t count)
{
	AUTO_FREE char *point = NULL;

	*index = (struct current_index){.indexing.settings = settings};
	if (count == 1 && find_mount_point(operands[0], &point) == 0 && point != NULL)
		return locate_view_index(index, point);
	index->given = operands;
	index->given_count = count;
	return indexing_locate(&index->indexing, settings, operands, count);
}

int current_index_open(struct current_index *index, const struct common_settings *settings,
		       char *const *operands, size_t count)
{
	int r = current_index_locate(index, settings, operands, count);

	if (r < 0)
		return r;
	return index->served ? open_served(index) : open_own(index);
}

void current_index_close(struct current_index *index)
{
	if (index->served) {
		sources_close(&index->served_sources);
		catalog_close(index->catalog);
	}
	indexing_close(&index->indexing);
}

enum twinfs_exit current_index_status(const struct current_index *index, uint64_t errors,
				      uint64_t pending)
{
	enum twinfs_exit status = completeness_status(errors, pending);

	return index->unfinished ? TWINFS_EXIT_INCOMPLETE : status;
}
