/* SPDX-License-Identifier: MIT */
#include "cli/list_print.h"

#include <errno.h>

#include "base/log.h"
#include "base/numbers.h"
#include "choose/figures.h"
#include "choose/similar.h"
#include "choose/stays.h"
#include "cli/current_index.h"
#include "cli/index_print.h"
#include "cli/missing_from.h"
#include "cli/paths.h"
#include "index/query.h"
#include "scan/completeness.h"

int list_parse_format(const char *word, enum report_format *format)
{
	static const char *const words[] = {
		[REPORT_TEXT] = "text",   [REPORT_FDUPES] = "fdupes", [REPORT_JSON] = "json",
		[REPORT_JSONL] = "jsonl", [REPORT_CSV] = "csv",       [REPORT_NULL] = "null",
	};
	int found = options_find_word(word, words, ARRAY_SIZE(words));

	if (found < 0)
		return found;
	*format = (enum report_format)found;
	return 0;
}

int list_prepare(const struct list_request *request, const struct current_index *index,
		 struct catalog_reader *reader, struct report *report)
{
	int r = current_index_check_options(index, reader);

	if (r < 0)
		return r;
	*report = request->report;
	report->reader = reader;
	report->sources = index->sources;
	report->rules = &request->rules->rules;
	report->filter = &request->filters->filter;
	report->last_scan = index->last_scan;
	/* The index of a view can have files below the default --min-size. Such files are printed,
	 * but listed as redundant only if --min-size includes them. */
	r = filter_settings_prepare(request->filters, index, reader,
				    index->served && report->part != REPORT_REDUNDANT);
	return r < 0 ? r : rule_settings_prepare(request->rules, reader, index->sources);
}

/* Logs the result in a sentence: a list without an entry must not look like a failure, and an
 * incomplete one not like a result. */
static int explain_missing(const struct list_request *request, const struct current_index *index,
			   struct catalog_reader *reader, const struct report_summary *summary,
			   enum twinfs_exit status)
{
	char number[NUMBER_TEXT_MAX];
	char size[FIGURE_SIZE_MAX];

	if (status != TWINFS_EXIT_COMPLETE)
		log_warning("the result is incomplete: other files can be missing, too");
	if (summary->singles == 0 && status == TWINFS_EXIT_COMPLETE)
		log_info(filter_is_selective(&request->filters->filter)
				 ? "no selected file is missing"
				 : "no file is missing");
	else
		log_info("%s %s missing, %s", number_format(number, summary->singles),
			 plural(summary->singles, "file is", "files are"),
			 figure_size(size, summary->single_bytes));
	return missing_from_explain(&summary->checked, index->sources, reader);
}

/* Refuses an index that does not know its folder groups. Returns 0, -EXDEV (logged) or another
 * -errno. */
static int check_folders(struct catalog_reader *reader)
{
	struct catalog_totals totals;
	int r = catalog_get_totals(reader, &totals);

	if (r < 0 || totals.folders_known)
		return r;
	log_error("cannot list equal folders: no scan of the index has ended yet; wait for the "
		  "view, or run 'twinfs scan' to the end");
	return -EXDEV;
}

/* Logs the number of pairs, and what the bound of the search can have left out. */
static void explain_similar(const struct report_summary *summary)
{
	const struct similar_bounds *bounds = &summary->bounds;
	char number[NUMBER_TEXT_MAX];

	log_info("%s %s of similar folders", number_format(number, summary->pairs),
		 plural(summary->pairs, "pair", "pairs"));
	if (bounds->common > 0)
		log_info("%s %s in more than %d folders: pairs of folders that share nothing else "
			 "can be left out",
			 number_format(number, bounds->common),
			 plural(bounds->common, "content is", "contents are"), SIMILAR_DIRS_MAX);
	if (bounds->deep > 0)
		log_info("left out %s %s more than %d levels below the source, except as parts "
			 "of others",
			 number_format(number, bounds->deep),
			 plural(bounds->deep, "folder", "folders"), SIMILAR_DEPTH_MAX);
}

static int print(void *context, const struct current_index *index, struct catalog_reader *reader,
		 struct output *output, enum twinfs_exit *status)
{
	const struct list_request *request = context;
	AUTO_FREE const char **shown = shown_paths_find(index);
	struct report_summary summary = {0};
	enum twinfs_exit left_out = TWINFS_EXIT_COMPLETE;
	struct report report;
	int r = shown ? list_prepare(request, index, reader, &report) : -ENOMEM;

	report.shown = shown;
	if (r == 0 && report.part == REPORT_MISSING)
		r = missing_from_check(report.missing, index, reader, &left_out);
	if (r == 0 && report.folders)
		r = check_folders(reader);
	if (r == 0)
		r = report_print(&report, output, &summary);
	if (r == -EOVERFLOW && request->report.part == REPORT_SIMILAR) {
		log_error("cannot compare the folders: their files have 2^64 bytes or more; leave "
			  "out the largest files with --max-size");
		return -EXDEV;
	}
	if (r == 0)
		r = filter_settings_explain(request->filters, index, reader);
	if (r < 0)
		return r;
	missing_from_distrust(&summary.checked, &left_out);
	*status = completeness_status(summary.errors, summary.pending);
	if (*status == TWINFS_EXIT_COMPLETE)
		*status = current_index_is_incomplete(index) ? TWINFS_EXIT_INCOMPLETE : left_out;
	if (report.part == REPORT_MISSING)
		r = explain_missing(request, index, reader, &summary, *status);
	if (report.part == REPORT_SIMILAR)
		explain_similar(&summary);
	return r;
}

enum twinfs_exit list_print(const struct list_request *request, struct current_index *index)
{
	CLEANUP_STAY_TALLY struct stay_tally stays = {0};
	struct list_request printed = *request;
	const struct index_printer printer = {
		.noun = "list",
		.print = print,
		.context = &printed,
		.whole = true,
	};
	enum twinfs_exit status;

	if (request->report.part == REPORT_REDUNDANT)
		printed.report.stays = &stays;
	status = index_print(&printer, index);
	stay_tally_explain(&stays);
	return status;
}
