/* SPDX-License-Identifier: MIT */
#include "cli/list_print.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/spool.h"
#include "catalog/query.h"
#include "cli/current_index.h"
#include "cli/shown_paths.h"

struct report list_report(void)
{
	return (struct report){.max_size = UINT64_MAX, .top = UINT64_MAX};
}

int list_parse_format(const char *word, enum report_format *format)
{
	static const char *const words[] = {
		[REPORT_TEXT] = "text",   [REPORT_FDUPES] = "fdupes", [REPORT_JSON] = "json",
		[REPORT_JSONL] = "jsonl", [REPORT_CSV] = "csv",       [REPORT_NULL] = "null",
	};
	int found = parse_word(word, words, ARRAY_SIZE(words));

	if (found < 0)
		return found;
	*format = (enum report_format)found;
	return 0;
}

int list_prepare(const struct list_request *request, const struct current_index *index,
		 struct catalog_reader *reader, struct report *report)
{
	int r = 0;

	*report = request->report;
	report->reader = reader;
	report->sources = index->sources;
	report->rules = &request->rules->rules;
	report->min_size = request->common->min_size;
	/* what is served may be of smaller files too: then they are wanted, unless said otherwise */
	if (!request->common->min_size_given)
		r = catalog_get_min_size(reader, &report->min_size);
	return r < 0 ? r : rule_settings_check(request->rules, reader, index->sources);
}

static int print_to(struct output *output, const struct list_request *request,
		    const struct current_index *index, struct report_summary *summary)
{
	CLEANUP(shown_paths_free) struct shown_paths shown = {0};
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct report report;
	int r;

	r = shown_paths_make(&shown, index->sources, index->given, index->given_count);
	if (r == 0)
		r = catalog_read_begin(index->catalog, &reader);
	if (r == 0)
		r = list_prepare(request, index, reader, &report);
	report.shown = shown.list;
	return r < 0 ? r : report_print(&report, output, summary);
}

/* Prints into a file first, so that the daemon's index does not have to keep an old state for as
 * long as somebody reads the list in a pager.
 */
static int print_through_spool(const struct list_request *request, const struct current_index *index,
			       struct report_summary *summary)
{
	CLEANUP_OUTPUT struct output output;
	AUTO_CLOSE int spool = spool_open();
	int r;

	if (spool < 0)
		return spool;
	output_init(&output, spool);
	r = print_to(&output, request, index, summary);
	return r < 0 ? r : spool_copy(spool, STDOUT_FILENO);
}

static int print_at_once(const struct list_request *request, const struct current_index *index,
			 struct report_summary *summary)
{
	CLEANUP_OUTPUT struct output output;

	output_init(&output, STDOUT_FILENO);
	return print_to(&output, request, index, summary);
}

/* Who closed the pipe, or interrupted us, knows that; what does not fit the sources (-EXDEV) was
 * said where it was found.
 */
static void explain(int result)
{
	if (result == -EUCLEAN)
		log_error("cannot print the list: the index is damaged; 'twinfs scan' makes it "
			  "anew");
	else if (result != -EPIPE && result != -EINTR && result != -EXDEV)
		log_error("cannot print the list: %s", error_text(result));
}

enum twinfs_exit list_print(const struct list_request *request, const struct current_index *index)
{
	struct report_summary summary = {0};
	int r;

	r = index->served ? print_through_spool(request, index, &summary)
			  : print_at_once(request, index, &summary);
	if (r == -EUCLEAN && !index->served)
		catalog_condemn(index->catalog);
	if (r < 0) {
		explain(r);
		return TWINFS_EXIT_FAILED;
	}
	return current_index_status(index, summary.errors, summary.pending);
}
