/* SPDX-License-Identifier: MIT */
#include "cli/index_print.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/json_path.h"
#include "base/log.h"
#include "base/quote.h"
#include "catalog/query.h"
#include "cli/completeness.h"
#include "cli/indexing.h"
#include "cli/interrupt.h"
#include "cli/spool.h"
#include "cli/status_file.h"
#include "cli/view_sync.h"
#include "mount/point.h"

/* The sources as the user gave them; all zero where a mount point was given. */
struct named_sources {
	char *const *given;
	size_t count;
	char *const *resolved; /* NULL-terminated */
};

static int print_to(const struct index_printer *printer, struct catalog *catalog,
		    struct index_snapshot *snapshot, struct output *output,
		    enum twinfs_exit *status)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r;

	r = catalog_read_begin(catalog, &reader);
	if (r < 0)
		return r;
	snapshot->catalog = catalog;
	snapshot->reader = reader;
	r = printer->print(printer->context, snapshot, output, status);
	return r < 0 ? r : output_flush(output);
}

/* 0, or -errno, said. Who closed the pipe, or interrupted us, knows that. */
static int explain_printing(const struct index_printer *printer, int result)
{
	if (result == -EUCLEAN)
		log_error("cannot print the %s: the index is damaged; 'twinfs scan' makes it anew",
			  printer->noun);
	else if (result < 0 && result != -EPIPE && result != -EINTR)
		log_error("cannot print the %s: %s", printer->noun, error_text(result));
	return result;
}

/* ---- an index that is ours --------------------------------------------------------------- */

static enum twinfs_exit print_own(const struct index_printer *printer, struct indexing *indexing,
				  const struct named_sources *named)
{
	struct index_snapshot snapshot = {
		.sources = &indexing->sources,
		.given = named->given,
		.given_count = named->count,
	};
	enum twinfs_exit status = TWINFS_EXIT_COMPLETE;
	CLEANUP_OUTPUT struct output output;
	int r;

	output_init(&output, STDOUT_FILENO);
	r = print_to(printer, indexing->catalog, &snapshot, &output, &status);
	if (r == -EUCLEAN)
		catalog_condemn(indexing->catalog);
	return explain_printing(printer, r) < 0 ? TWINFS_EXIT_FAILED : status;
}

/* ---- an index that a daemon keeps -------------------------------------------------------- */

/* Says that what is printed may lack what happened last, and why; to be done about it is the same in
 * each case. */
static void say_unfinished(const char *mount_point, int result)
{
	if (mount_point == NULL || mount_point[0] == '\0')
		log_warning("another process is changing this index: give the command again when "
			    "it has ended");
	else if (result == -ENOENT)
		log_warning("the view at %s, which keeps this index, is not there: give the "
			    "command again when it is mounted, or has ended",
			    quote_path(mount_point));
	else
		log_warning("the view at %s, which keeps this index, cannot bring it up to date: "
			    "%s; see 'twinfs status'",
			    quote_path(mount_point), error_text(result));
}

/* Has a view that keeps the index bring it up to date, for as long as that takes, and says so.
 *
 * unfinished	set where nobody did: the index may be older than our beginning
 *
 * 0 or -EINTR */
static int sync_with_owner(const char *folder, bool *unfinished)
{
	AUTO_FREE char *mount_point = NULL;
	pid_t pid = 0;
	int r = -ENOENT;

	if (catalog_owner(folder, &pid, &mount_point) == 0 && mount_point[0] != '\0')
		r = view_sync(mount_point);
	if (r == -EINTR)
		return r;
	*unfinished = r < 0;
	if (r < 0)
		say_unfinished(mount_point, r);
	else
		log_info("process %d keeps this index current for the view at %s", (int)pid,
			 quote_path(mount_point));
	return 0;
}

static int name_errors(struct catalog *catalog, const struct sources *sources)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct catalog_totals totals = {0};
	int r;

	r = catalog_read_begin(catalog, &reader);
	if (r == 0)
		r = catalog_get_totals(reader, &totals);
	if (r < 0)
		return r;
	return totals.errors > 0 ? completeness_name_errors(reader, sources) : 0;
}

/* Prints into a file first, so that the daemon's index does not have to keep an old state for as
 * long as somebody reads what is printed in a pager.
 */
static int print_through_spool(const struct index_printer *printer, struct catalog *catalog,
			       struct index_snapshot *snapshot, enum twinfs_exit *status)
{
	CLEANUP_OUTPUT struct output output;
	AUTO_CLOSE int spool = spool_open();
	int r;

	if (spool < 0)
		return spool;
	output_init(&output, spool);
	r = print_to(printer, catalog, snapshot, &output, status);
	return r < 0 ? r : spool_copy(spool, STDOUT_FILENO);
}

/* Whether the index is that of the sources the user named; if not, says so. */
static int check_sources(const char *folder, const struct sources *sources,
			 const struct named_sources *named)
{
	size_t i = 0;

	if (named->count == 0)
		return 0;
	while (i < sources->count && named->resolved[i] != NULL &&
	       strcmp(sources->list[i].path, named->resolved[i]) == 0)
		i++;
	if (i == sources->count && named->resolved[i] == NULL)
		return 0;
	log_error("the index %s, which is in use, is not that of these sources; choose another "
		  "with --index",
		  quote_path(folder));
	return -EXDEV;
}

static int print_catalog(const struct index_printer *printer, struct catalog *catalog,
			 const struct named_sources *named, enum twinfs_exit *status)
{
	CLEANUP(sources_close) struct sources sources = {0};
	struct index_snapshot snapshot = {
		.sources = &sources,
		.given = named->given,
		.given_count = named->count,
	};
	bool unfinished = false;
	int r;

	/* what the view went through to other file systems is reached, too */
	r = sources_open(&sources, catalog, NULL, true);
	if (r == 0 && check_sources(catalog_folder(catalog), &sources, named) < 0)
		return -EXDEV;
	if (r == 0)
		r = sync_with_owner(catalog_folder(catalog), &unfinished);
	if (r == 0)
		r = name_errors(catalog, &sources);
	if (r == 0)
		r = print_through_spool(printer, catalog, &snapshot, status);
	if (unfinished)
		*status = TWINFS_EXIT_INCOMPLETE;
	return explain_printing(printer, r);
}

static enum twinfs_exit print_served(const struct index_printer *printer, const char *folder,
				     const struct named_sources *named)
{
	enum twinfs_exit status = TWINFS_EXIT_COMPLETE;
	struct catalog *catalog = NULL;
	int r;

	r = indexing_open_read_only(folder, &catalog);
	if (r != 0) {
		indexing_explain(folder, r);
		return TWINFS_EXIT_FAILED;
	}
	r = print_catalog(printer, catalog, named, &status);
	catalog_close(catalog);
	return r < 0 ? TWINFS_EXIT_FAILED : status;
}

/* ---- what the user named ----------------------------------------------------------------- */

static enum twinfs_exit print_mount_point(const struct index_printer *printer, const char *point)
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
	return print_served(printer, bytes_text(&folder), &(struct named_sources){0});
}

static enum twinfs_exit print_sources(const struct index_printer *printer, char *const *given,
				      size_t count)
{
	CLEANUP_INDEXING struct indexing indexing = {0};
	struct named_sources named = {.given = given, .count = count};
	int r;

	r = indexing_locate(&indexing, printer->common, given, count);
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	named.resolved = indexing.paths;
	interrupt_watch();
	r = indexing_open(&indexing);
	if (r == INDEXING_IN_USE)
		return print_served(printer, indexing.folder, &named);
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	if (indexing_update(&indexing, NULL) < 0)
		return TWINFS_EXIT_FAILED;
	return print_own(printer, &indexing, &named);
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

enum twinfs_exit index_print(const struct index_printer *printer, char *const *operands,
			     size_t count)
{
	AUTO_FREE char *point = NULL;

	if (count == 1 && find_mount_point(operands[0], &point) == 0 && point != NULL)
		return print_mount_point(printer, point);
	return print_sources(printer, operands, count);
}
