/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "choose/figures.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/current_index.h"
#include "fleet/digesting.h"
#include "fleet/file_list.h"
#include "fleet/row_set.h"
#include "index/catalog.h"

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
	char number[NUMBER_TEXT_MAX], size[FIGURE_SIZE_MAX];
	uint64_t count = 0, bytes = 0;

	for (size_t i = 0; i < files->count; i++) {
		if (files->list[i].state != state)
			continue;
		count++;
		bytes = size_add(bytes, files->list[i].size);
	}
	if (count > 0 || state == WANTED_READ)
		figure_print(output, label, "%s %s, %s", number_format(number, count),
			     plural(count, "file", "files"), figure_size(size, bytes));
}

static void print_result(const struct wanted_files *files)
{
	CLEANUP_OUTPUT struct output output;
	int r;

	output_init(&output, STDOUT_FILENO);
	print_state(&output, files, WANTED_READ, "read");
	print_state(&output, files, WANTED_EQUAL, "equal");
	print_state(&output, files, WANTED_KNOWN, "known");
	print_state(&output, files, WANTED_EARLIER, "earlier");
	print_state(&output, files, WANTED_PENDING, "pending");
	print_state(&output, files, WANTED_UNREADABLE, "unreadable");
	r = output_flush(&output);
	if (r < 0)
		log_error("cannot write the result: %s", error_text(r));
}

/* Logs how many wanted files have no digest for this reason, and names the first ones. */
static void explain_named(const struct wanted_named *named, const char *reason)
{
	char number[NUMBER_TEXT_MAX];

	for (uint64_t i = 0; i < named->count && i < WANTED_NAMED; i++)
		log_info("left out %s: %s", quote_path(named->paths[i]), reason);
	if (named->count > WANTED_NAMED)
		log_info("left out %s wanted files in all: %s", number_format(number, named->count),
			 reason);
}

/* Logs why rows are missing. */
static enum twinfs_exit explain_rows(const struct digest_run *run,
				     const struct digest_rows_result *result)
{
	char number[NUMBER_TEXT_MAX];

	explain_named(&run->files.missing, "the index has no such file any more");
	explain_named(&run->files.changed, "the size is not that of the inventory any more");
	log_info("wrote %s %s to %s", number_format(number, result->rows),
		 plural(result->rows, "digest", "digests"), quote_path(run->settings->output));
	if (result->unreadable > 0)
		log_warning("the result is incomplete: %s wanted %s could not be read",
			    number_format(number, result->unreadable),
			    plural(result->unreadable, "file", "files"));
	if (result->pending > 0)
		log_warning(
			"the result is incomplete: %s wanted %s not read in a state that lasted; "
			"run the command again",
			number_format(number, result->pending),
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
	else if (result == -EUCLEAN)
		log_error("cannot compute the digests: the index is damaged; run 'twinfs scan' to "
			  "rebuild it");
	else if (result != -EXDEV)
		log_error("cannot compute the digests: %s", error_text(result));
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
