/* SPDX-License-Identifier: MIT */
#include "cli/list_print.h"

#include <errno.h>

#include "base/log.h"
#include "base/numbers.h"
#include "catalog/query.h"
#include "cli/paths.h"
#include "elsewhere/missing_from.h"
#include "index/completeness.h"
#include "index/current_index.h"
#include "index/index_print.h"
#include "report/figures.h"
#include "report/left.h"
#include "report/place_tally.h"
#include "report/similar.h"
#include "source/managed.h"

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

static void explain_bundle(const struct bundle_count *count)
{
	char number[NUMBER_TEXT_MAX];
	const char *path = quote_path(count->path);
	const char *copies = plural(count->copies, "copy", "copies");

	number_format(number, count->copies);
	if (!count->kind && count->dir)
		log_info("skipped %s %s in %s, which stays whole; --include-bundles includes %s",
			 number, copies, path, plural(count->copies, "it", "them"));
	else if (count->kind && count->dir)
		log_info("skipped %s %s in %s, %s, which stays whole", number, copies, path,
			 count->kind->name);
	else if (count->kind)
		log_info("skipped %s %s of %s that has other files beside it, which stays whole; "
			 "the first is %s",
			 number, copies, count->kind->name, path);
	else
		log_info("skipped %s %s: a program writes it or the kept copy in place, which "
			 "would change both; the first is %s",
			 number, copies, path);
}

void list_explain_bundles(const struct bundle_tally *tally)
{
	char number[NUMBER_TEXT_MAX];

	for (size_t i = 0; i < tally->count; i++)
		explain_bundle(&tally->list[i]);
	if (tally->others > 0)
		log_info("skipped %s more %s in other folders that stay whole",
			 number_format(number, tally->others),
			 plural(tally->others, "copy", "copies"));
}

void list_explain_left(const struct left_tally *tally)
{
	const char *path = (const char *)tally->links.data;
	char number[NUMBER_TEXT_MAX];

	if (tally->held > 0)
		log_info("skipped %s %s with hard links elsewhere: linking %s would free nothing",
			 number_format(number, tally->held), plural(tally->held, "copy", "copies"),
			 plural(tally->held, "it", "them"));
	if (tally->led > 0)
		log_info("skipped %s %s that symbolic links lead to; --break-symlinks includes %s",
			 number_format(number, tally->led), plural(tally->led, "copy", "copies"),
			 plural(tally->led, "it", "them"));
	if (tally->broken > 0)
		log_warning("%s symbolic %s to these copies would lead nowhere",
			    number_format(number, tally->broken),
			    plural(tally->broken, "link", "links"));
	for (size_t i = 0; i < tally->link_count; i++, path += strlen(path) + 1)
		log_info("symbolic link: %s", quote_path(path));
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
	AUTO_FREE const char **shown =
		shown_paths_find(index->sources, index->given, index->given_count);
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
	CLEANUP_BUNDLE_TALLY struct bundle_tally tally = {0};
	CLEANUP_LEFT_TALLY struct left_tally left = {0};
	CLEANUP_PLACE_TALLY struct place_tally places = {0};
	struct list_request printed = *request;
	const struct index_printer printer = {
		.noun = "list",
		.print = print,
		.context = &printed,
		.whole = true,
	};
	enum twinfs_exit status;

	if (request->report.part == REPORT_REDUNDANT) {
		printed.report.bundles = &tally;
		printed.report.left = &left;
		printed.report.places = &places;
	}
	status = index_print(&printer, index);
	list_explain_bundles(&tally);
	list_explain_left(&left);
	place_tally_explain(&places);
	return status;
}
