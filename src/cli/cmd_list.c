/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/numbers.h"
#include "choose/figures.h"
#include "choose/similar.h"
#include "choose/stays.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/counted.h"
#include "cli/current_index.h"
#include "cli/missing_from.h"
#include "cli/selection.h"
#include "index/query.h"
#include "scan/source_check.h"

/* Logs the result in a sentence: a list without an entry must not look like a failure, and an
 * incomplete one not like a result. */
static int explain_missing(const struct list_request *request, const struct current_index *index,
			   struct catalog_reader *reader, const struct report_summary *summary,
			   enum twinfs_exit status)
{
	if (status != TWINFS_EXIT_COMPLETE)
		log_warning("the result is incomplete: other files can be missing, too");
	if (summary->singles == 0 && status == TWINFS_EXIT_COMPLETE)
		log_info(filter_is_selective(&request->selection->filters.filter)
				 ? "no selected file is missing"
				 : "no file is missing");
	else
		log_info("%s missing, %s", counted(summary->singles, "file is", "files are").text,
			 figure_text(summary->single_bytes).text);
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

	log_info("%s of similar folders", counted(summary->pairs, "pair", "pairs").text);
	if (bounds->common > 0)
		log_info("%s in more than %d folders: pairs of folders that share nothing else can "
			 "be left out",
			 counted(bounds->common, "content is", "contents are").text,
			 SIMILAR_DIRS_MAX);
	if (bounds->deep > 0)
		log_info("left out %s more than %d levels below the source, except as parts of "
			 "others",
			 counted(bounds->deep, "folder", "folders").text, SIMILAR_DEPTH_MAX);
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
		r = filter_settings_explain(&request->selection->filters, index, reader);
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

static enum twinfs_exit list_print(const struct list_request *request, struct current_index *index)
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

/* The argument of --similar if it is omitted. */
#define SIMILAR_PERCENT_DEFAULT 50

struct list_settings {
	struct selection_settings selection;
	struct list_request request;
	struct missing_from missing;
	unsigned int part_count; /* above 1: options that choose the part contradict */
	bool order_given;
};

static int set_part(struct list_settings *settings, enum report_part part)
{
	settings->part_count += settings->request.report.part != part;
	settings->request.report.part = part;
	return 0;
}

static int set_redundant(void *settings, const char *value)
{
	(void)value;
	return set_part(settings, REPORT_REDUNDANT);
}

static int set_singles(void *settings, const char *value)
{
	(void)value;
	return set_part(settings, REPORT_SINGLES);
}

static int set_summary(void *settings, const char *value)
{
	(void)value;
	return set_part(settings, REPORT_SUMMARY);
}

static int add_missing(void *member, const char *folder)
{
	struct list_settings *settings = member;

	(void)set_part(settings, REPORT_MISSING);
	return missing_from_add(&settings->missing.given, folder);
}

/* Parses the argument of --similar, which can be omitted. */
static int set_similar(void *member, const char *text)
{
	struct list_settings *settings = member;
	uint64_t percent = SIMILAR_PERCENT_DEFAULT;

	if (text && (text[strspn(text, "0123456789")] != '\0' ||
		     number_read(text, strlen(text), &percent) < 0 || percent < 1 || percent > 100))
		return -EINVAL;
	settings->request.report.similar_percent = (unsigned int)percent;
	return set_part(settings, REPORT_SIMILAR);
}

static const struct option_spec list_options[] = {
	{.heading = "Output"},
	{
		.name = "format",
		.letter = 'F',
		.argument = LIST_FORMATS,
		.help = "text (default, for people), fdupes (one path per line, an empty line "
			"between groups), json, jsonl (one group per line), csv (one name per "
			"line) or null (paths for xargs -0); see twinfs(5)",
		.at = offsetof(struct list_settings, request.report.format),
	},
	{
		.name = "redundant",
		.help = "print only the copies that can be removed",
		.set = set_redundant,
	},
	{
		.name = "folders",
		.help = "print the groups of equal folders instead: they have the same names of "
			"the same types, and the files have the same content",
		.at = offsetof(struct list_settings, request.report.folders),
	},
	{
		.name = "all",
		.help = "with --folders, print also the groups whose folders are in equal folders; "
			"with --similar, also pairs of folders in each other pair",
		.at = offsetof(struct list_settings, request.report.implied),
	},
	{
		.name = "singles",
		.help = "print the files that have no copy instead",
		.set = set_singles,
	},
	{
		.name = "missing-from",
		.argument = "DIR",
		.help = "print the files of the sources whose content is in no file of DIR "
			"instead, "
			"also if the sources have it several times; can be given more than once",
		.set = add_missing,
		.expects = "a directory",
	},
	{
		.name = "similar",
		.argument = "PERCENT",
		.can_omit = true,
		.help = "print pairs of folders instead, of which at least PERCENT of the bytes of "
			"each are in the other one, too (default: 50)",
		.set = set_similar,
		.expects = "a number from 1 to 100",
	},
	{
		.name = "summary",
		.help = "print only the totals",
		.set = set_summary,
	},
	{
		.name = "explain",
		.help = "state for each name whether it is kept, redundant or spared, and why",
		.at = offsetof(struct list_settings, request.report.explain),
	},
	{
		.name = "sort",
		.argument = "reclaimable|size|count|path",
		.help = "order of the groups: reclaimable (bytes that removing the redundant "
			"copies would free, most first, the default), size (of one copy), count "
			"(of copies) or path (of the kept copy)",
		.at = offsetof(struct list_settings, request.report.order),
		.given = offsetof(struct list_settings, order_given),
	},
	{0},
};

static const char *find_folders_fault(const struct list_settings *settings)
{
	const struct report *report = &settings->request.report;

	if (report->implied && !report->folders && report->part != REPORT_SIMILAR)
		return "--all is for --folders and --similar";
	if (!report->folders)
		return NULL;
	if (!report_has_groups(report->part))
		return "--folders prints groups: omit --singles, --missing-from and --similar";
	if (settings->selection.common.index.names_from)
		return "--folders compares whole folders: omit --files0-from";
	return NULL;
}

/* Returns whether a rule is given that says which copies are kept. */
static bool has_kept_rules(const struct rules *rules)
{
	return rules->keep || rules->protect || rules->only || rules->include_bundles ||
	       rules->break_symlinks;
}

/* Returns what is wrong with options beside --similar, or NULL. */
static const char *find_similar_fault(const struct list_settings *settings)
{
	const struct report *report = &settings->request.report;
	const struct filter *filter = &settings->selection.filters.filter;

	if (report->part != REPORT_SIMILAR)
		return NULL;
	if (!report_can_pair(report->format))
		return "--similar needs one of --format=text, json, jsonl, csv and null";
	if (report->explain || has_kept_rules(&settings->selection.rules.rules))
		return "--similar keeps no copy: omit --explain, --keep, --protect, --only and "
		       "--include-bundles";
	if (settings->order_given)
		return "--similar prints the pair with most shared bytes first: omit --sort";
	if (filter->extensions || filter->has_newer || filter->has_older ||
	    settings->selection.filters.copies_given || filter->same_name)
		return "--similar selects folders: omit --ext, --newer, --older, --copies and "
		       "--same-name";
	if (settings->selection.common.index.names_from)
		return "--similar compares folders: omit --files0-from";
	return NULL;
}

/* Returns what is wrong with the command line, or NULL. */
static const char *find_fault(const void *context, char *const *operands, size_t operand_count)
{
	const struct list_settings *settings = context;
	const struct report *report = &settings->request.report;
	const char *fault = find_source_fault(&settings->selection.common.index, operand_count);

	if (!fault)
		fault = rule_settings_fault(&settings->selection.rules, operands, operand_count);
	if (fault)
		return fault;
	if (settings->part_count > 1)
		return "give only one of --redundant, --singles, --missing-from, --similar and "
		       "--summary";
	fault = find_folders_fault(settings);
	if (!fault)
		fault = find_similar_fault(settings);
	if (fault)
		return fault;
	if (report->part == REPORT_SUMMARY && !report_can_summarize(report->format))
		return "--format=null prints only paths: omit --summary, or choose another format";
	if (report->explain && !report_can_explain(report->format))
		return "--explain needs one of --format=text, json, jsonl and csv";
	if (report->explain && (report->part == REPORT_SUMMARY || !report_has_groups(report->part)))
		return "--explain is for copies: omit --singles, --missing-from and --summary";
	if (!report_has_groups(report->part) && settings->order_given &&
	    (report->order == REPORT_BY_RECLAIMABLE || report->order == REPORT_BY_COUNT))
		return "--singles and --missing-from have no copies to count: sort by size or "
		       "path";
	if (!report_has_groups(report->part) && (settings->selection.filters.copies_given ||
						 settings->selection.filters.filter.same_name))
		return "--copies and --same-name are for groups: omit --singles and "
		       "--missing-from";
	if (report->part == REPORT_MISSING && settings->selection.common.index.names_from)
		return "--missing-from compares folders: omit --files0-from";
	if (report->part == REPORT_MISSING && settings->selection.common.index.no_scan)
		return "--missing-from needs the present files: omit --no-scan";
	return filter_settings_fault(&settings->selection);
}

static enum twinfs_exit list_missing(struct list_settings *settings, char *const *operands,
				     size_t count)
{
	CLEANUP_CURRENT_INDEX struct current_index index = {0};
	struct missing_from *missing = &settings->missing;

	settings->selection.common.index.takes_files = false;
	if (missing_from_begin(missing, operands, count) < 0 ||
	    current_index_open(&index, &settings->selection.common.index, missing->operands.items,
			       missing->operands.count, INDEX_PROOF) < 0)
		return TWINFS_EXIT_FAILED;
	if (!settings->order_given)
		settings->request.report.order = REPORT_BY_PATH;
	settings->request.report.missing = &missing->folders;
	return list_print(&settings->request, &index);
}

static enum twinfs_exit run(void *context, char **operands, size_t count)
{
	CLEANUP_CURRENT_INDEX struct current_index index = {0};
	struct list_settings *settings = context;

	if (settings->request.report.part == REPORT_MISSING)
		return list_missing(settings, operands, count);
	if (settings->request.report.folders || settings->request.report.part == REPORT_SIMILAR)
		settings->selection.common.index.takes_files = false;
	if (current_index_open(&index, &settings->selection.common.index, operands, count,
			       INDEX_READ) < 0)
		return TWINFS_EXIT_FAILED;
	return list_print(&settings->request, &index);
}

static void init(void *context)
{
	struct list_settings *settings = context;

	selection_init(&settings->selection);
	settings->request.selection = &settings->selection;
	settings->missing.option = "--missing-from";
}

static void deinit(void *context)
{
	struct list_settings *settings = context;

	missing_from_free(&settings->missing);
	selection_free(&settings->selection);
}

const struct command list_command = {
	.options = {.command = "twinfs list",
		    .usage = {"SOURCE|FILE...", "MOUNTPOINT"},
		    .summary = "Prints the groups of equal files in the sources, ordered by "
			       "reclaimable bytes. The index is brought up to date first; the "
			       "index of a mounted view is brought up to date by that view.",
		    .options = {list_options, filter_options, keep_option, rule_options,
				scan_options, walk_options, files_option, index_option,
				no_scan_option, message_options}},
	.settings_bytes = sizeof(struct list_settings),
	.init = init,
	.deinit = deinit,
	.find_fault = find_fault,
	.run = run,
};
