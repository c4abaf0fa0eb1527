/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
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
#include "cli/counted.h"
#include "cli/current_index.h"
#include "cli/known_index.h"
#include "fleet/attestations.h"
#include "fleet/attesting.h"
#include "fleet/digesting.h"
#include "fleet/file_list.h"
#include "fleet/inventory.h"
#include "fleet/json_lines.h"
#include "fleet/promises.h"
#include "fleet/row_set.h"
#include "index/catalog.h"
#include "index/query.h"
#include "index/scan_settings.h"
#include "scan/index_folder.h"
#include "scan/source_check.h"

/* ---- export ---------------------------------------------------------------------------------- */

struct export_settings {
	struct common_settings common;
	const char *host;
	const char *output;
};

static int set_host(void *member, const char *value)
{
	*(const char **)member = value;
	return host_name_is_valid(value) ? 0 : -EINVAL;
}

static const struct option_spec export_options[] = {
	{.heading = "Inventory"},
	{
		.name = "host",
		.argument = "NAME",
		.help = "name of this machine in the fleet: letters, digits, dots, underscores "
			"and hyphens",
		.at = offsetof(struct export_settings, host),
		.set = set_host,
		.expects = HOST_NAME_RULE,
	},
	{
		.name = "output",
		.letter = 'o',
		.argument = "DIR",
		.help = "folder to write the inventory to; an earlier inventory of this host in it "
			"is replaced when the new one is complete",
		.at = offsetof(struct export_settings, output),
		.expects = "a folder",
	},
	{0},
};

static int await_changes(void *context)
{
	struct current_index *index = context;
	int r = current_index_sync(index);

	return r == 0 && index->unfinished ? INVENTORY_NOT_AWAITED : r;
}

static enum twinfs_exit write_inventory(const struct export_settings *settings,
					struct current_index *index, struct row_set *set)
{
	const struct inventory_task task = {
		.sources = index->sources,
		.examines_disk = !settings->common.index.no_scan,
		.outdated = index->unfinished || index->lacks_moved,
		.progress = settings->common.index.progress,
		.await_changes =
			index->served && !settings->common.index.no_scan ? await_changes : NULL,
		.context = index,
	};
	struct inventory_result result = {0};
	int r = current_index_check_options_now(index);

	if (r == 0)
		r = inventory_write(&task, set, &result);
	if (!index->served)
		catalog_judge(index->catalog, r);
	if (r < 0) {
		index_explain_failure(r, "export the inventory");
		return TWINFS_EXIT_FAILED;
	}
	if (result.changed)
		log_info("the index changed meanwhile; each row is true at the time it was read");
	/* a later update adds rows only for some files */
	index->lacks_moved |= task.outdated;
	log_info("exported %s to %s", counted(result.rows, "file", "files").text,
		 quote_path(settings->output));
	index->lacks_files = result.missed > 0;
	if (index->lacks_files)
		completeness_name_missed(result.missed);
	return current_index_status(index, result.errors, result.pending);
}

/* The folder is checked before the index is updated, which can take long. */
static enum twinfs_exit run_export(void *context, char **operands, size_t count)
{
	const struct export_settings *settings = context;
	CLEANUP_CURRENT_INDEX struct current_index index = {0};
	CLEANUP_ROW_SET struct row_set set;
	const struct row_set_settings set_settings = {
		.folder = settings->output,
		.format = INVENTORY_FORMAT,
		.noun = "inventory",
		.host = settings->host,
	};

	interrupt_watch();
	interrupt_guard(true);
	if (row_set_begin(&set, &set_settings) < 0 ||
	    current_index_open(&index, &settings->common.index, operands, count, INDEX_READ) < 0)
		return TWINFS_EXIT_FAILED;
	return write_inventory(settings, &index, &set);
}

/* Returns what is wrong with the command line, or NULL. */
static const char *find_export_fault(const void *context, char *const *operands, size_t count)
{
	const struct export_settings *settings = context;
	const struct index_settings *index = &settings->common.index;

	(void)operands;
	if (!settings->host)
		return "no --host=NAME given";
	if (!settings->output)
		return "no --output=DIR given";
	if (count == 0 && !index->no_scan)
		return "no SOURCE and no MOUNTPOINT given";
	return find_source_fault(index, count);
}

const struct command export_command = {
	.options = {.command = "twinfs export",
		    .usage = {"SOURCE...", "MOUNTPOINT"},
		    .summary = "Writes an inventory of this machine: the names, sizes and times of "
			       "all regular files in the sources, and which of them are equal. "
			       "twinfs-fleet compares the inventories of several machines. The "
			       "index is brought up to date first; the index of a mounted view is "
			       "brought up to date by that view.",
		    .options = {export_options, scan_options, walk_options, index_option,
				no_scan_option, message_options}},
	.settings_bytes = sizeof(struct export_settings),
	.find_fault = find_export_fault,
	.run = run_export,
};

/* ---- digest ---------------------------------------------------------------------------------- */

struct digest_settings {
	struct common_settings common;
	const char *wanted;
	const char *output;
};

static const struct option_spec digest_options[] = {
	{.heading = "Digests"},
	{
		.name = "wanted",
		.argument = "FILE",
		.help = "list of the files to read, which 'twinfs-fleet wanted' made for this "
			"machine",
		.at = offsetof(struct digest_settings, wanted),
		.expects = "a file",
	},
	{
		.name = "output",
		.letter = 'o',
		.argument = "DIR",
		.help = "folder to write the digests to; earlier digests of this host in it are "
			"replaced when the new ones are complete, and are not computed again for "
			"unchanged files",
		.at = offsetof(struct digest_settings, output),
		.expects = "a folder",
	},
	{0},
};

/* What the command works on. */
struct digest_run {
	const struct digest_settings *settings;
	struct file_list wanted;
	struct row_set set;
	struct current_index index;
	struct earlier_digests earlier;
	struct wanted_files files;
};

/* ---- result ------------------------------------------------------------------------------ */

static void print_state(struct output *output, const struct wanted_files *files,
			enum wanted_state state, const char *label)
{
	uint64_t count = 0, bytes = 0;

	for (size_t i = 0; i < files->count; i++) {
		if (files->list[i].state != state)
			continue;
		count++;
		bytes = size_add(bytes, files->list[i].size);
	}
	if (count > 0 || state == WANTED_READ)
		figure_print(output, label, "%s, %s", counted(count, "file", "files").text,
			     figure_text(bytes).text);
}

static void print_result(const struct wanted_files *files)
{
	CLEANUP_OUTPUT struct output output;

	output_init(&output, STDOUT_FILENO);
	print_state(&output, files, WANTED_READ, "read");
	print_state(&output, files, WANTED_EQUAL, "equal");
	print_state(&output, files, WANTED_KNOWN, "known");
	print_state(&output, files, WANTED_EARLIER, "earlier");
	print_state(&output, files, WANTED_PENDING, "pending");
	print_state(&output, files, WANTED_UNREADABLE, "unreadable");
	print_result_end(&output);
}

/* Logs how many wanted files have no digest for this reason, and names the first ones. */
static void explain_named(const struct wanted_named *named, const char *reason)
{
	for (uint64_t i = 0; i < named->count && i < WANTED_NAMED; i++)
		log_info("left out %s: %s", quote_path(named->paths[i]), reason);
	if (named->count > WANTED_NAMED)
		log_info("left out %s wanted files in all: %s", number_text(named->count).text,
			 reason);
}

/* Logs why rows are missing. */
static enum twinfs_exit explain_rows(const struct digest_run *run,
				     const struct digest_rows_result *result)
{
	explain_named(&run->files.missing, "the index has no such file any more");
	explain_named(&run->files.changed, "the size is not that of the inventory any more");
	log_info("wrote %s to %s", counted(result->rows, "digest", "digests").text,
		 quote_path(run->settings->output));
	if (result->unreadable > 0)
		log_warning("the result is incomplete: %s wanted %s could not be read",
			    number_text(result->unreadable).text,
			    plural(result->unreadable, "file", "files"));
	if (result->pending > 0)
		log_warning(
			"the result is incomplete: %s wanted %s not read in a state that lasted; "
			"run the command again",
			number_text(result->pending).text,
			plural(result->pending, "file was", "files were"));
	return result->unreadable > 0 || result->pending > 0 ||
			       current_index_is_incomplete(&run->index)
		       ? TWINFS_EXIT_INCOMPLETE
		       : TWINFS_EXIT_COMPLETE;
}

/* ---- the command ------------------------------------------------------------------------- */

static int find_files(struct digest_run *run)
{
	const struct wanted_search search = {
		.sources = run->index.sources,
		.wanted = &run->wanted,
		.file = run->settings->wanted,
		.earlier = &run->earlier,
	};
	int r = current_index_check_options_now(&run->index);

	if (r == 0)
		r = listed_sources_check_index(&run->wanted, run->settings->wanted,
					       run->index.catalog);
	if (r == 0)
		r = earlier_digests_load(&run->earlier, &run->set.folder, run->wanted.index);
	if (r == 0)
		r = wanted_files_find(&run->files, &search);
	file_list_free(&run->wanted); /* most of the memory */
	earlier_digests_free(&run->earlier);
	return r;
}

static int read_files(struct digest_run *run)
{
	const struct digesting_task task = {
		.sources = run->index.sources,
		.files = &run->files,
		.progress = common_progress(&run->settings->common),
		.disk = run->settings->common.index.disk,
		.keeps_digests = !run->index.served,
	};

	if (run->index.served)
		log_info("a view maintains the index, so the digests are kept in %s only",
			 quote_path(run->settings->output));
	return digesting_run(&task);
}

/* Logs why there are no digests, unless that was logged. */
static enum twinfs_exit explain(const struct digest_run *run, int result)
{
	if (!run->index.served)
		catalog_judge(run->index.catalog, result);
	if (result == -EINTR)
		log_error("stopped: interrupted; run the command again to continue");
	else
		index_explain_failure(result, "compute the digests");
	return TWINFS_EXIT_FAILED;
}

/* If the index cannot keep what was read before an interrupt, the output does. */
static enum twinfs_exit compute(struct digest_run *run)
{
	struct digest_rows_result result;
	int read, r = find_files(run);

	if (r < 0)
		return explain(run, r);
	read = read_files(run);
	if (read < 0 && (read != -EINTR || !run->index.served))
		return explain(run, read);
	r = digest_rows_write(run->index.sources, &run->files, &run->set, &result);
	if (r < 0 || read < 0)
		return explain(run, r < 0 ? r : read);
	if (!run->settings->common.quiet)
		print_result(&run->files);
	return explain_rows(run, &result);
}

static enum twinfs_exit update_and_compute(struct digest_run *run, char *const *operands,
					   size_t count)
{
	const struct index_settings *settings = &run->settings->common.index;
	enum twinfs_exit status = TWINFS_EXIT_FAILED;

	if (current_index_open(&run->index, settings, operands, count, INDEX_READ) == 0)
		status = compute(run);
	current_index_close(&run->index);
	return status;
}

/* List and folder are checked before the index is updated, which can take long. */
static enum twinfs_exit run_digest(void *context, char **operands, size_t count)
{
	struct digest_settings *settings = context;
	struct digest_run run = {.settings = settings};
	enum twinfs_exit status = TWINFS_EXIT_FAILED;
	const struct row_set_settings set = {
		.folder = settings->output,
		.format = DIGEST_ROWS_FORMAT,
		.noun = "digests",
		.host = run.wanted.host,
	};

	interrupt_watch();
	interrupt_guard(true);
	settings->common.index.names_only = true;
	if (file_list_read(&run.wanted, FILE_LIST_WANTED, settings->wanted) == 0) {
		if (row_set_begin(&run.set, &set) == 0)
			status = update_and_compute(&run, operands, count);
		row_set_deinit(&run.set);
	}
	wanted_files_free(&run.files);
	earlier_digests_free(&run.earlier);
	file_list_free(&run.wanted);
	return status;
}

/* Returns what is wrong with the command line, or NULL. */
static const char *find_digest_fault(const void *context, char *const *operands, size_t count)
{
	const struct digest_settings *settings = context;

	(void)operands;
	if (!settings->wanted)
		return "no --wanted=FILE given";
	if (!settings->output)
		return "no --output=DIR given";
	return count == 0 ? "no SOURCE and no MOUNTPOINT given" : NULL;
}

const struct command digest_command = {
	.options = {.command = "twinfs digest",
		    .usage = {"SOURCE...", "MOUNTPOINT"},
		    .summary = "Computes the SHA-256 of the files that other machines possibly "
			       "have, too, and reads no others. twinfs-fleet compares the digests "
			       "of several machines. Of equal files, one is read. Digests stay in "
			       "the index, so that a further call reads changed files only. The "
			       "names in the index are brought up to date first; the index of a "
			       "mounted view is brought up to date by that view.",
		    .options = {digest_options, scan_options, walk_options, index_option,
				message_options}},
	.settings_bytes = sizeof(struct digest_settings),
	.find_fault = find_digest_fault,
	.run = run_digest,
};

/* ---- attest ---------------------------------------------------------------------------------- */

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
	figure_print(output, label, "%s, %s", counted(figures->count, "content", "contents").text,
		     figure_text(figures->bytes).text);
}

static void print_attested(const struct figures *kept, const struct figures *missing)
{
	CLEANUP_OUTPUT struct output output;

	output_init(&output, STDOUT_FILENO);
	print_figures(&output, "kept", kept);
	if (missing->count > 0)
		print_figures(&output, "not kept", missing);
	print_result_end(&output);
}

static enum twinfs_exit conclude(const struct attest_run *run)
{
	struct figures kept = {0}, missing = {0};

	for (size_t i = 0; i < run->list.count; i++) {
		struct figures *figures = run->results[i].state == ATTESTED_KEPT ? &kept : &missing;

		figures->count++;
		figures->bytes = size_add(figures->bytes, run->list.rows[i].size);
	}
	if (!run->settings->common.quiet)
		print_attested(&kept, &missing);
	log_info("wrote attested-%s.jsonl to %s", run->list.host,
		 quote_path(run->settings->output));
	if (missing.count == 0)
		return TWINFS_EXIT_COMPLETE;
	log_warning("the attestation is incomplete: %s not kept here",
		    counted(missing.count, "content is", "contents are").text);
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
