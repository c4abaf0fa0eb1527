/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "choose/figures.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/current_index.h"
#include "cli/known_index.h"
#include "fleet/attestations.h"
#include "fleet/attesting.h"
#include "fleet/file_list.h"
#include "fleet/promises.h"
#include "index/catalog.h"
#include "index/query.h"
#include "index/scan_settings.h"
#include "scan/index_folder.h"

struct attest_settings {
	struct common_settings common;
	const char *file; /* the keep list */
	const char *output;
};

static const struct option_spec attest_options[] = {
	{.heading = "Attestation"},
	{
		.name = "output",
		.letter = 'o',
		.argument = "DIR",
		.help = "folder to write attested-HOST.jsonl to; an earlier one is replaced when "
			"the new one is complete",
		.at = offsetof(struct attest_settings, output),
		.expects = "a folder",
	},
	{0},
};

/* What the command works on. */
struct attest_run {
	const struct attest_settings *settings;
	struct file_list list;
	struct attestation_file file;
	struct current_index index;
	struct promises *promises;
	size_t *numbers; /* listed_sources_find() */
	struct attested *results; /* of each row */
};

/* ---- index ------------------------------------------------------------------------------- */

/* Returns whether the index in a folder is that of the list, and can be read. */
static bool is_listed(const char *folder, const struct file_list *list)
{
	struct catalog *catalog = NULL;
	bool is = index_open_read_only(folder, &catalog) == 0 &&
		  catalog_identity(catalog) == list->index;

	catalog_close(catalog);
	return is;
}

/* Sets *folder to the only known folder that has the index of the list. The caller frees it. */
static int search_index(const struct attest_run *run, char **folder)
{
	CLEANUP_TEXT_LIST struct text_list folders = {0};
	size_t found = 0;
	int r = known_indexes_list(&folders);

	if (r < 0)
		return r;
	for (size_t i = 0; i < folders.count; i++) {
		if (!is_listed(folders.items[i], &run->list))
			continue;
		free(*folder);
		*folder = strdup(folders.items[i]);
		if (!*folder)
			return -ENOMEM;
		found++;
	}
	if (found == 1)
		return 0;
	log_error("%s is that of the keep list %s; give the SOURCE... of the inventory, or its "
		  "index with --index",
		  found == 0 ? "no index" : "more than one index", quote_path(run->settings->file));
	return -ENOENT;
}

/* Finds the folder of the index. Returns 0 or -errno, logged except -ENOMEM. */
static int locate(struct attest_run *run, char *const *sources, size_t count)
{
	const struct index_settings *settings = &run->settings->common.index;
	char **folder = &run->index.indexing.folder;

	if (count > 0)
		return current_index_locate(&run->index, settings, sources, count);
	run->index.indexing.settings = settings;
	return settings->folder ? index_folder_given(settings->folder, folder)
				: search_index(run, folder);
}

/* Takes over whether the last scan entered other file systems. */
static int take_cross_mounts(struct current_index *index)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_SCAN_SETTINGS struct scan_settings settings = {0};
	int r = catalog_read_begin(index->catalog, &reader);

	if (r == 0)
		r = catalog_get_scan_settings(reader, &settings);
	if (r < 0 && r != -ENOMEM)
		index_explain(index->indexing.folder, r);
	index->served_sources.cross_mounts = settings.cross_mounts;
	return r;
}

/* Opens the index, which stays as it is, and finds the sources of the list in it. */
static int open_index(struct attest_run *run, char *const *sources, size_t count)
{
	const char *file = run->settings->file;
	int r = locate(run, sources, count);

	if (r == 0)
		r = current_index_attach(&run->index);
	if (r == 0)
		r = listed_sources_check_index(&run->list, file, run->index.catalog);
	if (r == 0)
		r = take_cross_mounts(&run->index);
	if (r < 0)
		return r;
	run->numbers = calloc(run->list.sources.count, sizeof(*run->numbers));
	return run->numbers
		       ? listed_sources_find(&run->list, file, run->index.sources, run->numbers)
		       : -ENOMEM;
}

/* ---- result ------------------------------------------------------------------------------ */

/* Contents and the sum of their sizes. */
struct figures {
	uint64_t count, bytes;
};

static void print_figures(struct output *output, const char *label, const struct figures *figures)
{
	char number[NUMBER_TEXT_MAX], size[FIGURE_SIZE_MAX];

	figure_print(output, label, "%s %s, %s", number_format(number, figures->count),
		     plural(figures->count, "content", "contents"),
		     figure_size(size, figures->bytes));
}

static void print_result(const struct figures *kept, const struct figures *missing)
{
	CLEANUP_OUTPUT struct output output;
	int r;

	output_init(&output, STDOUT_FILENO);
	print_figures(&output, "kept", kept);
	if (missing->count > 0)
		print_figures(&output, "not kept", missing);
	r = output_flush(&output);
	if (r < 0)
		log_error("cannot write the result: %s", error_text(r));
}

static enum twinfs_exit conclude(const struct attest_run *run)
{
	struct figures kept = {0}, missing = {0};
	char number[NUMBER_TEXT_MAX];

	for (size_t i = 0; i < run->list.count; i++) {
		struct figures *figures = run->results[i].state == ATTESTED_KEPT ? &kept : &missing;

		figures->count++;
		figures->bytes = size_add(figures->bytes, run->list.rows[i].size);
	}
	if (!run->settings->common.quiet)
		print_result(&kept, &missing);
	log_info("wrote attested-%s.jsonl to %s", run->list.host,
		 quote_path(run->settings->output));
	if (missing.count == 0)
		return TWINFS_EXIT_COMPLETE;
	log_warning("the attestation is incomplete: %s %s not kept here",
		    number_format(number, missing.count),
		    plural(missing.count, "content is", "contents are"));
	return TWINFS_EXIT_INCOMPLETE;
}

/* ---- the command ------------------------------------------------------------------------- */

/* The promise is on the disk before the first file is read. Otherwise an act for another plan could
 * remove a file after it was read. */
static int promise_and_read(struct attest_run *run)
{
	const struct common_settings *common = &run->settings->common;
	const struct attesting_task task = {
		.sources = run->index.sources,
		.list = &run->list,
		.numbers = run->numbers,
		.results = run->results,
		.progress = common_progress(common),
		.disk = common->index.disk,
	};
	struct timespec begun = clock_now();
	int r = promises_add(run->promises, &run->list);

	if (r == 0)
		r = attesting_run(&task);
	return r == 0 ? attestation_file_write(&run->file, run->results, begun) : r;
}

static int attest(struct attest_run *run, char *const *sources, size_t count)
{
	AUTO_FREE char *indexes = NULL;
	int r = file_list_read(&run->list, FILE_LIST_KEEP, run->settings->file);

	if (r == 0)
		r = attestation_file_init(&run->file, run->settings->output, &run->list);
	if (r == 0)
		r = open_index(run, sources, count);
	if (r == 0)
		r = index_folders_parent(&indexes);
	if (r == 0)
		r = promises_open(&run->promises, indexes, catalog_folder(run->index.catalog),
				  &run->list);
	if (r < 0)
		return r;
	run->results = calloc(run->list.count + 1, sizeof(*run->results));
	return run->results ? promise_and_read(run) : -ENOMEM;
}

/* The first operand is the keep list, the others are sources. */
static enum twinfs_exit run_attest(void *context, char **operands, size_t count)
{
	struct attest_settings *settings = context;
	struct attest_run run = {.settings = settings, .file.fd = -1};
	enum twinfs_exit status = TWINFS_EXIT_FAILED;
	int r;

	settings->file = operands[0];
	interrupt_watch();
	interrupt_guard(true);
	r = attest(&run, operands + 1, count - 1);
	if (r == 0)
		status = conclude(&run);
	else if (r == -EINTR)
		log_error("stopped: interrupted; nothing was attested");
	promises_close(run.promises);
	current_index_close(&run.index);
	attestation_file_deinit(&run.file);
	file_list_free(&run.list);
	free(run.results);
	free(run.numbers);
	return status;
}

static const char *find_attest_fault(const void *context, char *const *operands, size_t count)
{
	const struct attest_settings *settings = context;

	(void)operands;
	(void)count;
	return settings->output ? NULL : "no --output=DIR given";
}

const struct command attest_command = {
	.options = {.command = "twinfs attest",
		    .usage = {"KEEP-LIST [SOURCE...]", "KEEP-LIST MOUNTPOINT"},
		    .summary = "Reads the files of a keep list, which 'twinfs-fleet plan' made for "
			       "this machine, from the disk, and attests which of their contents "
			       "are there. Other machines need the attestation for 'twinfs remove "
			       "--attested'. For 14 days, 'twinfs remove --attested' removes none "
			       "of these contents here. The sources are those of the inventory. "
			       "Without them, the index of the inventory is found. The index is "
			       "not changed.",
		    .options = {attest_options, index_option, message_options}},
	.settings_bytes = sizeof(struct attest_settings),
	.lacks_operand = "no KEEP-LIST given",
	.find_fault = find_attest_fault,
	.run = run_attest,
};
