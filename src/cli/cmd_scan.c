/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/log.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "choose/figures.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/counted.h"
#include "cli/current_index.h"
#include "scan/index_folder.h"
#include "scan/indexing.h"
#include "scan/source_check.h"

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
	return (double)(to_ns - from_ns) / 1e9;
}

static void print_left_out(struct output *output, const struct ingest_result *result)
{
	if (result->not_entered > 0)
		figure_print(output, "left out", "%s of other file systems",
			     counted(result->not_entered, "directory", "directories").text);
	if (result->excluded > 0)
		figure_print(output, "excluded", "%s",
			     counted(result->excluded, "name", "names").text);
}

static void print_work(struct output *output, const struct ingest *ingest,
		       const struct indexing_times *times)
{
	uint64_t compared = atomic_load(&ingest->progress.compared);

	figure_print(output, "compared", "%s now, %s", counted(compared, "file", "files").text,
		     figure_text(atomic_load(&ingest->progress.compared_bytes)).text);
	figure_print(output, "time", "%.2f s: names %.2f s, contents %.2f s",
		     seconds(times->begin_ns, times->end_ns),
		     seconds(times->begin_ns, times->named_ns),
		     seconds(times->named_ns, times->end_ns));
}

static int summarize(struct catalog *catalog, struct report_summary *summary)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r;

	r = catalog_read_begin(catalog, &reader);
	return r < 0 ? r : report_summarize(reader, summary);
}

/* Prints what the index has. */
static int print_index(struct output *output, const char *folder, const struct sources *sources,
		       const struct report_summary *summary)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < sources->count; i++)
		r = figure_print_path(output, i == 0 ? "sources" : "", sources->list[i].path);
	if (r == 0)
		r = figure_print_path(output, "index", folder);
	figure_print(output, "on disk", "%s", size_text(index_folder_bytes(folder)).text);
	figures_print(output, summary);
	return r;
}

/* Writes the output. Returns 0 or -errno, logged.
 *
 * r	result of printing it */
static int finish(struct output *output, int r)
{
	if (r == 0)
		r = output_flush(output);
	if (r < 0 && r != -EPIPE)
		log_error("cannot write the summary: %s", error_text(r));
	return r;
}

static void explain_reading(const char *folder, int result)
{
	log_error("cannot read the index %s: %s", quote_path(folder), error_text(result));
}

static int print_summary(const struct indexing *indexing, const struct indexing_times *times)
{
	CLEANUP_OUTPUT struct output output;
	struct report_summary summary;
	int r;

	output_init(&output, STDOUT_FILENO);
	r = summarize(indexing->catalog, &summary);
	catalog_judge(indexing->catalog, r);
	if (r < 0) {
		explain_reading(indexing->folder, r);
		return r;
	}
	r = print_index(&output, indexing->folder, &indexing->sources, &summary);
	print_left_out(&output, &indexing->ingest.result);
	print_work(&output, &indexing->ingest, times);
	return finish(&output, r);
}

/* ---- an index that a view maintains ------------------------------------------------------- */

/* Returns whether a view maintains the index. */
static bool is_of_view(const char *folder)
{
	AUTO_FREE char *mount_point = NULL;
	pid_t pid = 0;

	return catalog_owner(folder, &pid, &mount_point) == 0 && mount_point[0] != '\0';
}

/* Has the view update its index. */
static enum twinfs_exit scan_by_view(const struct common_settings *settings, char *const *sources,
				     size_t count)
{
	CLEANUP_CURRENT_INDEX struct current_index index = {0};
	CLEANUP_OUTPUT struct output output;
	struct report_summary summary;
	int r = current_index_open(&index, &settings->index, sources, count, INDEX_EXACT);

	output_init(&output, STDOUT_FILENO);
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	r = summarize(index.catalog, &summary);
	if (r < 0)
		explain_reading(catalog_folder(index.catalog), r);
	if (r == 0 && !settings->quiet)
		r = finish(&output, print_index(&output, catalog_folder(index.catalog),
						index.sources, &summary));
	return r < 0 ? TWINFS_EXIT_FAILED
		     : current_index_status(&index, summary.errors, summary.pending);
}

static enum twinfs_exit scan(struct indexing *indexing, bool quiet)
{
	const struct ingest_result *result = &indexing->ingest.result;
	struct indexing_times times;
	enum twinfs_exit status;

	if (indexing_update(indexing, &times) < 0)
		return TWINFS_EXIT_FAILED;
	if (!quiet && print_summary(indexing, &times) < 0)
		return TWINFS_EXIT_FAILED;
	status = completeness_status(result->errors, result->pending);
	return result->moved ? TWINFS_EXIT_INCOMPLETE : status;
}

static enum twinfs_exit run(void *context, char **operands, size_t count)
{
	const struct common_settings *settings = context;
	CLEANUP_INDEXING struct indexing indexing = {0};
	int r;

	interrupt_watch();
	interrupt_guard(true);
	r = indexing_locate(&indexing, &settings->index, operands, count);
	if (r == 0)
		r = indexing_open(&indexing);
	if (r == INDEXING_IN_USE && is_of_view(indexing.folder))
		return scan_by_view(settings, operands, count);
	if (r == INDEXING_IN_USE)
		index_explain(indexing.folder, CATALOG_IN_USE);
	return r != 0 ? TWINFS_EXIT_FAILED : scan(&indexing, settings->quiet);
}

const struct command scan_command = {
	.options = {.command = "twinfs scan",
		    .usage = {"SOURCE..."},
		    .summary = "Brings the index of the sources up to date and exits. Reads only "
			       "files that are new or have changed. Prints a summary.",
		    .options = {scan_options, walk_options, index_option, message_options}},
	.settings_bytes = sizeof(struct common_settings),
	.lacks_operand = "no SOURCE given",
	.run = run,
};
