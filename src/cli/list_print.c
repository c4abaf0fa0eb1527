/* SPDX-License-Identifier: MIT */
#include "cli/list_print.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/spool.h"
#include "catalog/query.h"
#include "cli/completeness.h"
#include "cli/indexing.h"
#include "cli/shown_paths.h"
#include "cli/view_sync.h"

/* Prints to the output what the index has. */
static int print_to(struct output *output, const struct list_request *request,
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
	report.rules = &request->rules->rules;
	report.min_size = request->common->min_size;
	/* what is served may be of smaller files too: then they are wanted, unless said otherwise */
	if (!request->common->min_size_given)
		r = catalog_get_min_size(reader, &report.min_size);
	if (r == 0)
		r = rule_settings_check(request->rules, reader, report.sources);
	return r < 0 ? r : report_print(&report, output, summary);
}

/* 0, or -errno, said. Who closed the pipe, or interrupted us, knows that; what does not fit the
 * sources (-EXDEV) was said where it was found.
 */
static int explain_printing(int result)
{
	if (result == -EUCLEAN)
		log_error("cannot print the list: the index is damaged; 'twinfs scan' makes it "
			  "anew");
	else if (result < 0 && result != -EPIPE && result != -EINTR && result != -EXDEV)
		log_error("cannot print the list: %s", error_text(result));
	return result;
}

/* ---- an index that is ours --------------------------------------------------------------- */

enum twinfs_exit list_print_own(const struct list_request *request, struct indexing *indexing,
				const struct named_sources *named)
{
	CLEANUP(shown_paths_free) struct shown_paths shown = {0};
	struct report report = request->report;
	CLEANUP_OUTPUT struct output output;
	struct report_summary summary = {0};
	int r;

	r = shown_paths_make(&shown, &indexing->sources, named->given, named->count);
	report.sources = &indexing->sources;
	report.shown = shown.list;
	output_init(&output, STDOUT_FILENO);
	if (r == 0)
		r = print_to(&output, request, indexing->catalog, &report, &summary);
	if (r == -EUCLEAN)
		catalog_condemn(indexing->catalog);
	if (explain_printing(r) < 0)
		return TWINFS_EXIT_FAILED;
	return completeness_status(summary.errors, summary.pending);
}

/* ---- an index that a daemon keeps -------------------------------------------------------- */

/* Says that the list may lack what happened last, and why; to be done about it is the same in each
 * case. */
static void say_unfinished(const char *mount_point, int result)
{
	if (mount_point == NULL || mount_point[0] == '\0')
		log_warning("another process is changing this index: list again when it has ended");
	else if (result == -ENOENT)
		log_warning("the view at %s, which keeps this index, is not there: list again "
			    "when it is mounted, or has ended",
			    quote_path(mount_point));
	else
		log_warning("the view at %s, which keeps this index, cannot bring it up to date: "
			    "%s; see 'twinfs status'",
			    quote_path(mount_point), error_text(result));
}

/* Has a view that keeps the index bring it up to date, for as long as that takes, and says so.
 *
 * unfinished	set where nobody did: the list may be older than it began
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
 * long as somebody reads the list in a pager.
 */
static int print_through_spool(const struct list_request *request, struct catalog *catalog,
			       const struct report *what, struct report_summary *summary)
{
	CLEANUP_OUTPUT struct output output;
	AUTO_CLOSE int spool = spool_open();
	int r;

	if (spool < 0)
		return spool;
	output_init(&output, spool);
	r = print_to(&output, request, catalog, what, summary);
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

static int print_served(const struct list_request *request, struct catalog *catalog,
			const struct named_sources *named, struct report_summary *summary,
			bool *unfinished)
{
	CLEANUP(sources_close) struct sources sources = {0};
	CLEANUP(shown_paths_free) struct shown_paths shown = {0};
	struct report report = request->report;
	int r;

	r = sources_open(&sources, catalog, NULL, false);
	if (r == 0 && check_sources(catalog_folder(catalog), &sources, named) < 0)
		return -EXDEV;
	if (r == 0)
		r = shown_paths_make(&shown, &sources, named->given, named->count);
	if (r == 0)
		r = sync_with_owner(catalog_folder(catalog), unfinished);
	if (r == 0)
		r = name_errors(catalog, &sources);
	report.sources = &sources;
	report.shown = shown.list;
	if (r == 0)
		r = print_through_spool(request, catalog, &report, summary);
	return explain_printing(r);
}

enum twinfs_exit list_print_served(const struct list_request *request, const char *folder,
				   const struct named_sources *named)
{
	struct report_summary summary = {0};
	struct catalog *catalog = NULL;
	bool unfinished = false;
	enum twinfs_exit status;
	int r;

	r = indexing_open_read_only(folder, &catalog);
	if (r != 0) {
		indexing_explain(folder, r);
		return TWINFS_EXIT_FAILED;
	}
	r = print_served(request, catalog, named, &summary, &unfinished);
	catalog_close(catalog);
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	status = completeness_status(summary.errors, summary.pending);
	return unfinished ? TWINFS_EXIT_INCOMPLETE : status;
}
