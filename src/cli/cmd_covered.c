/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/numbers.h"
#include "base/path.h"
#include "choose/figures.h"
#include "choose/filter.h"
#include "choose/report.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/counted.h"
#include "cli/current_index.h"
#include "cli/missing_from.h"
#include "index/source.h"
#include "scan/source_check.h"

/* The formats of list that have no groups. */
#define FORMATS "text|json|jsonl|null"

struct covered_settings {
	struct common_settings common;
	struct missing_from missing;
	enum report_format format;
	bool ignore_symlinks;
	bool uncovered; /* the result: a file is only in the folders */
};

static int set_format(void *member, const char *word)
{
	static const enum report_format formats[] = {REPORT_TEXT, REPORT_JSON, REPORT_JSONL,
						     REPORT_NULL};
	int found = options_find_word(FORMATS, word);

	if (found >= 0)
		*(enum report_format *)member = formats[found];
	return found < 0 ? found : 0;
}

static const struct option_spec covered_options[] = {
	{.heading = "Folders"},
	{
		.name = "by",
		.argument = "DIR",
		.help = "search the contents in this folder (default: in everything else that the "
			"index has); can be given more than once",
		.at = offsetof(struct covered_settings, missing.given),
		.set = missing_from_add,
		.expects = "a directory",
	},
	{
		.name = "ignore-symlinks",
		.help = "do not print symlinks, whose targets are not compared",
		.at = offsetof(struct covered_settings, ignore_symlinks),
	},
	{.heading = "Output"},
	{
		.name = "format",
		.letter = 'F',
		.argument = FORMATS,
		.help = "text (default, for people), json, jsonl (one name per line) or null "
			"(paths for xargs -0); see twinfs(5)",
		.at = offsetof(struct covered_settings, format),
		.set = set_format,
	},
	{.heading = "Files to scan"},
	{0},
};

/* ---- the result --------------------------------------------------------------------------- */

static void explain_ignored(uint64_t count, const char *one, const char *many)
{
	if (count > 0)
		log_info("ignored %s", counted(count, one, many).text);
}

/* Logs the result in a sentence. */
static void explain(const struct covered_settings *settings, const struct report_summary *summary,
		    bool complete)
{
	const struct missing_tally *checked = &summary->checked;

	explain_ignored(checked->empty, "empty file", "empty files");
	explain_ignored(checked->special, "device, FIFO or socket", "devices, FIFOs or sockets");
	if (settings->ignore_symlinks)
		explain_ignored(checked->symlinks, "symlink", "symlinks");
	if (checked->linked > 0)
		log_info("%s the same %s elsewhere, by hard links",
			 counted(checked->linked, "file is", "files are").text,
			 plural(checked->linked, "file", "files"));
	if (!complete)
		log_warning("the result is incomplete: other files can be only here, too");
	if (summary->singles > 0)
		log_info("%s of %s %s only here, %s", number_text(summary->singles).text,
			 number_text(checked->files + checked->symlinks).text,
			 plural(summary->singles, "files is", "files are"),
			 figure_text(summary->single_bytes).text);
	else if (checked->files == 0)
		log_info("no file has a content to search for");
	else if (complete)
		log_info("%s elsewhere, %s",
			 counted(checked->files, "file is", "files are all").text,
			 figure_text(checked->bytes).text);
}

static int check_complete(const struct missing_from *missing, const struct current_index *index,
			  struct catalog_reader *reader, const struct report_summary *summary,
			  enum twinfs_exit *status)
{
	uint64_t unread = 0;
	int r = missing_count_unread(&missing->folders, reader, index->sources, &unread);

	if (r == 0 && completeness_status(unread, summary->pending) != TWINFS_EXIT_COMPLETE)
		*status = TWINFS_EXIT_INCOMPLETE;
	return r;
}

static bool is_without_files(const struct missing_tally *checked)
{
	return checked->files + checked->empty + checked->symlinks + checked->special == 0;
}

static int print(void *context, const struct current_index *index, struct catalog_reader *reader,
		 struct output *output, enum twinfs_exit *status)
{
	struct covered_settings *settings = context;
	AUTO_FREE const char **shown = shown_paths_find(index);
	struct report_summary summary = {0};
	struct filter filter = FILTER_NONE;
	const struct report report = {
		.reader = reader,
		.sources = index->sources,
		.shown = shown,
		.format = settings->format,
		.part = REPORT_MISSING,
		.order = REPORT_BY_PATH,
		.filter = &filter,
		.missing = &settings->missing.folders,
	};
	int r = shown ? 0 : -ENOMEM;

	filter.min_size = 1;
	if (r == 0)
		r = missing_from_check(report.missing, index, reader, status);
	if (r == 0)
		r = report_print(&report, output, &summary);
	if (r == 0)
		r = check_complete(&settings->missing, index, reader, &summary, status);
	if (r < 0)
		return r;
	missing_from_distrust(&summary.checked, status);
	settings->uncovered = summary.singles > 0;
	if (is_without_files(&summary.checked)) {
		*status = TWINFS_EXIT_INCOMPLETE;
		log_warning("there is no file in the folders; if they are on a disk, mount it");
		return 0;
	}
	explain(settings, &summary,
		*status == TWINFS_EXIT_COMPLETE && !current_index_is_incomplete(index));
	return missing_from_explain(&summary.checked, index->sources, reader);
}

/* ---- the folders -------------------------------------------------------------------------- */

/* Refuses a folder in one of --by: each of its files would be its own copy. */
static int refuse_inside(const struct missing_from *missing)
{
	for (size_t i = 0; i < missing->of.count; i++) {
		for (size_t j = 0; j < missing->in.count; j++) {
			const char *of = missing->of.items[i], *in = missing->in.items[j];

			if (!path_below(of, in))
				continue;
			log_error("cannot search %s: it contains %s, so each file would be its own "
				  "copy; give another folder with --by",
				  quote_path(in), quote_path(of));
			return -EINVAL;
		}
	}
	return 0;
}

/* Without --by, contents are searched in all sources of the index. */
static int locate(struct covered_settings *settings, const struct current_index *index)
{
	struct missing_from *missing = &settings->missing;
	const struct sources *sources = index->sources;
	int r = 0;

	if (missing->given.count == 0) {
		for (size_t i = 0; r == 0 && i < sources->count; i++)
			r = text_list_add(&missing->in, sources->list[i].path,
					  strlen(sources->list[i].path));
	}
	missing_from_set_folders(missing, settings->ignore_symlinks ? MISSING_COUNT_OTHERS
								    : MISSING_LIST_SYMLINKS);
	return r;
}

static enum twinfs_exit run(void *context, char **folders, size_t count)
{
	struct covered_settings *settings = context;
	CLEANUP_CURRENT_INDEX struct current_index index = {0};
	struct index_settings *index_settings = &settings->common.index;
	struct missing_from *missing = &settings->missing;
	const struct index_printer printer = {.noun = "result",
					      .print = print,
					      .context = settings};
	enum twinfs_exit status;

	if (missing_from_resolve(missing, folders, count) < 0 || refuse_inside(missing) < 0 ||
	    covering_index_choose(missing, index_settings->folder) < 0 ||
	    current_index_open(&index, index_settings, missing->operands.items,
			       missing->operands.count, INDEX_PROOF) < 0 ||
	    locate(settings, &index) < 0)
		return TWINFS_EXIT_FAILED;
	status = index_print(&printer, &index);
	return status == TWINFS_EXIT_COMPLETE && settings->uncovered ? TWINFS_EXIT_NOT_COVERED
								     : status;
}

static void init(void *settings)
{
	((struct covered_settings *)settings)->missing.option = "--by";
}

static void deinit(void *settings)
{
	missing_from_free(&((struct covered_settings *)settings)->missing);
}

const struct command covered_command = {
	.options = {.command = "twinfs covered",
		    .usage = {"FOLDER..."},
		    .summary = "Prints the files in the folders whose content is nowhere else. If "
			       "all contents are elsewhere, too, prints nothing and exits with "
			       "status 0; otherwise with status 4.",
		    .options = {covered_options, walk_options, index_option, message_options}},
	.settings_bytes = sizeof(struct covered_settings),
	.init = init,
	.deinit = deinit,
	.lacks_operand = "no FOLDER given",
	.run = run,
};
