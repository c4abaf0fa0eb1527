/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/new_file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/current_index.h"
#include "cli/selection.h"
#include "index/catalog.h"
#include "index/query.h"
#include "page/page.h"
#include "page/thumbnail.h"

struct report_settings {
	struct selection_settings selection; /* of the rules only --keep */
	const char *file; /* "-": stdout */
	bool without_pictures;
	/* The options given, for the commands of the page. */
	struct bytes scan_options, group_options;
};

static const struct option_spec report_options[] = {
	{.heading = "Output"},
	{
		.name = "html",
		.argument = "FILE",
		.help = "file to write the page to, as a single self-contained HTML file; - is "
			"standard output",
		.at = offsetof(struct report_settings, file),
		.expects = "a file name",
	},
	{
		.name = "no-pictures",
		.help = "leave out the thumbnails of the files in the largest groups",
		.at = offsetof(struct report_settings, without_pictures),
	},
	{0},
};

/* Notes an option that a command which acts upon the shown groups must repeat. */
static int note_option(void *context, const struct option_spec *list,
		       const struct option_spec *option, const char *value)
{
	struct report_settings *settings = context;
	struct bytes *options = NULL;
	int r;

	if (list == scan_options || list == walk_options || list == index_option)
		options = &settings->scan_options;
	else if (list == filter_options || list == keep_option)
		options = &settings->group_options;
	r = options ? bytes_format(options, " --%s", option->name) : 0;
	if (r < 0 || !options || !value)
		return r;
	r = bytes_append_text(options, "=");
	return r < 0 ? r : shell_word_append(options, value, strlen(value));
}

/* Sets rules and filters, and the mount point of the view if the user named that instead of
 * sources. */
static int prepare(struct report_settings *settings, const struct current_index *index,
		   struct bytes *mount_point)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(index->catalog, &reader);

	if (r == 0)
		r = current_index_check_options(index, reader);
	if (r == 0)
		r = rule_settings_prepare(&settings->selection.rules, reader, index->sources);
	if (r == 0)
		r = filter_settings_prepare(&settings->selection.filters, index, reader,
					    index->served);
	if (r < 0 || !index->served || index->given_count > 0)
		return r;
	r = catalog_get_view(reader, mount_point);
	return r == -ENOENT ? 0 : r;
}

static int explain_filters(struct report_settings *settings, const struct current_index *index)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(index->catalog, &reader);

	return r < 0 ? r : filter_settings_explain(&settings->selection.filters, index, reader);
}

static int make(struct report_settings *settings, const struct current_index *index,
		struct bytes *page, struct page_result *result)
{
	struct thumbnails thumbnails = {index->sources, 0};
	CLEANUP_BYTES struct bytes mount_point = {0};
	struct page_settings page_settings = {
		.sources = index->sources,
		.filter = &settings->selection.filters.filter,
		.rules = &settings->selection.rules.rules,
		.now = settings->selection.common.index.no_scan ? index->last_scan : clock_now(),
		.picture = settings->without_pictures ? NULL : thumbnail_make,
		.context = &thumbnails,
		.scan_options = bytes_text(&settings->scan_options),
		.group_options = bytes_text(&settings->group_options),
	};
	int r = prepare(settings, index, &mount_point);

	if (mount_point.length > 0)
		page_settings.mount_point = bytes_text(&mount_point);
	if (r == 0)
		r = page_make(&page_settings, page, result);
	return r < 0 ? r : explain_filters(settings, index);
}

static int write_page(const char *file, const struct bytes *page)
{
	int r;

	if (strcmp(file, "-") != 0)
		return replaced_file_write(file, page);
	r = write_fully(STDOUT_FILENO, page->data, page->length);
	if (r == -EPIPE)
		log_mark_reported(); /* the reader closed the pipe on purpose */
	return r;
}

/* Logs why the page could not be made, unless the user interrupted it. */
static void explain_making(int result)
{
	if (result == -EUCLEAN)
		log_error(
			"cannot make the report: the index is damaged; 'twinfs scan' rebuilds it");
	else if (result != -EINTR && result != -EXDEV)
		log_error("cannot make the report: %s", error_text(result));
}

static void explain_writing(const char *file, int result)
{
	if (result == -EINVAL)
		log_error("cannot write %s: it is no regular file; give - for standard output",
			  quote_path(file));
	else if (result != -EPIPE)
		log_error("cannot write %s: %s", quote_path(file), error_text(result));
}

static enum twinfs_exit run(void *context, char **operands, size_t count)
{
	struct report_settings *settings = context;
	CLEANUP_CURRENT_INDEX struct current_index index = {0};
	CLEANUP_BYTES struct bytes page = {0};
	struct page_result result = {0};
	int r;

	if (current_index_open(&index, &settings->selection.common.index, operands, count,
			       INDEX_READ) < 0)
		return TWINFS_EXIT_FAILED;
	r = make(settings, &index, &page, &result);
	if (!index.served)
		catalog_judge(index.catalog, r);
	if (r < 0) {
		explain_making(r);
		return TWINFS_EXIT_FAILED;
	}
	r = write_page(settings->file, &page);
	if (r < 0) {
		explain_writing(settings->file, r);
		return TWINFS_EXIT_FAILED;
	}
	return current_index_status(&index, result.errors, result.pending);
}

/* Returns what is wrong with the command line, or NULL. */
static const char *find_fault(const void *context, char *const *operands, size_t operand_count)
{
	const struct report_settings *settings = context;
	const char *fault;

	(void)operands;
	if (!settings->file)
		return "no --html=FILE given";
	fault = find_source_fault(&settings->selection.common.index, operand_count);
	return fault ? fault : filter_settings_fault(&settings->selection);
}

static void init(void *settings)
{
	selection_init(settings);
}

static void deinit(void *context)
{
	struct report_settings *settings = context;

	selection_free(&settings->selection);
	bytes_free(&settings->scan_options);
	bytes_free(&settings->group_options);
}

const struct command report_command = {
	.options = {.command = "twinfs report",
		    .usage = {"SOURCE|FILE...", "MOUNTPOINT"},
		    .summary = "Writes an HTML page that shows which duplicates use the space: how "
			       "much can be freed, in which folders, by which groups of equal "
			       "folders and files, and how old they are. The index is brought up "
			       "to date first; the index of a mounted view is brought up to date "
			       "by that view.",
		    .options = {report_options, filter_options, keep_option, scan_options,
				walk_options, files_option, index_option, no_scan_option,
				message_options},
		    .note = note_option},
	.settings_bytes = sizeof(struct report_settings),
	.init = init,
	.deinit = deinit,
	.find_fault = find_fault,
	.run = run,
};
