/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "cli/check.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/current_index.h"
#include "index/change.h"
#include "index/query.h"
#include "index/scan_settings.h"
#include "index/source.h"
#include "scan/index_folder.h"
#include "scan/indexing.h"
#include "scan/source_check.h"

/* ---- fresh index ---------------------------------------------------------------------------- */

/* A second index of the same sources, built from nothing: the current state of the disk. The second
 * index is stored in a folder inside the folder of the first index, and is removed afterwards. The
 * two indexes have the same numbers for file systems, so that their records can be compared. For
 * the main thread.
 */

/* All zero: none. */
struct fresh_index {
	struct indexing indexing;
	bool made; /* the folder of the index must be removed */
};

/* Name in the folder of the index. */
#define FOLDER "check"

/* Removes the folder and its files. Succeeds if it does not exist. */
static int remove_folder(const char *folder)
{
	AUTO_CLOSE int fd = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	r = directory_remove_files(fd);
	return r == 0 && rmdir(folder) < 0 ? -errno : r;
}

/* Removes the leftovers of a check that was killed. */
static int remove_leftover(const char *folder)
{
	AUTO_FREE char *mount_point = NULL;
	pid_t pid = 0;
	int r = catalog_owner(folder, &pid, &mount_point);

	if (r == 0 && pid != 0) {
		log_error("cannot check the index: another process is checking it; try again when "
			  "it has finished");
		return -EBUSY;
	}
	if (r == 0 || r == -ENOENT || r == -ENOTDIR)
		r = remove_folder(folder);
	if (r < 0)
		log_error("cannot remove the previous check index %s: %s", quote_path(folder),
			  error_text(r));
	return r;
}

static int fill(struct indexing *indexing, bool contents)
{
	enum progress_when when = indexing->settings->progress;
	int r = indexing_open(indexing);

	if (r == INDEXING_IN_USE) {
		index_explain(indexing->folder, CATALOG_IN_USE);
		return -EBUSY;
	}
	indexing->ingest_settings.names_only = !contents;
	if (r == 0)
		r = indexing_names(indexing, when);
	if (r == 0 && contents && !stop_requested())
		r = indexing_contents(indexing, when);
	return r == 0 && stop_requested() ? -EINTR : r;
}

/* Builds the index: walks the sources and compares files, which can take as long as a first scan.
 * Shows its progress.
 *
 * index	borrowed until fresh_index_remove(); its catalog and sources must be open
 * settings	borrowed: scan options
 * contents	false: names only
 *
 * Returns 0, -EINTR if interrupted, or another -errno. Failures except -EINTR and -ENOMEM are
 * logged. */
static int fresh_index_make(struct fresh_index *fresh, const struct current_index *index,
			    const struct index_settings *settings, bool contents)
{
	struct indexing *indexing = &fresh->indexing;
	const char *parent = catalog_folder(index->catalog);
	int r;

	*fresh = (struct fresh_index){.indexing = {.settings = settings, .beside = index->catalog}};
	if (asprintf(&indexing->folder, "%s/" FOLDER, parent) < 0) {
		indexing->folder = NULL;
		return -ENOMEM;
	}
	r = remove_leftover(indexing->folder);
	for (size_t i = 0; r == 0 && i < index->sources->count; i++)
		r = text_list_add(&indexing->paths, index->sources->list[i].path,
				  strlen(index->sources->list[i].path));
	if (r < 0)
		return r;
	fresh->made = true;
	return fill(indexing, contents);
}

/* Closes the index and removes its folder. Logs a failure as a warning. Accepts all zero. */
static void fresh_index_remove(struct fresh_index *fresh)
{
	AUTO_FREE char *folder = TAKE(fresh->indexing.folder);
	int r = 0;

	indexing_close(&fresh->indexing);
	if (fresh->made)
		r = remove_folder(folder);
	if (r < 0)
		log_warning("cannot remove %s: %s", quote_path(folder), error_text(r));
	fresh->made = false;
}

/* ---- check ---------------------------------------------------------------------------------- */

/* Maximum number of rechecks of names, and interval between them. Names that still change after the
 * last recheck are not reported. */
#define RECHECKS_MAX 10
#define RECHECK_INTERVAL_MS 20

/* Maximum number of files that one transaction marks for comparison. */
#define TOUCH_BATCH 4096

struct check_settings {
	/* Index options that the user did not give are set to those of the last scan. */
	struct common_settings common;
	bool quick; /* read no file */
	bool repair; /* afterwards, update the index from the disk, or rebuild an unusable index */
};

/* One run of the check. */
struct check_run {
	struct check_settings *settings;
	struct current_index index;
	struct fresh_index fresh;
	struct name_differences names;
	struct check_printing printing;
	struct check_figures figures;
	struct bytes touched; /* ids of files to be compared again */
	int structure; /* result of catalog_check() */
};

/* ---- names --------------------------------------------------------------------------- */

static int find_names(struct check_run *checking)
{
	CLEANUP_READER struct catalog_reader *indexed = NULL;
	CLEANUP_READER struct catalog_reader *fresh = NULL;
	struct name_sides sides = {.sources = checking->index.sources,
				   .fresh_sources = &checking->fresh.indexing.sources};
	int r = catalog_read_begin(checking->index.catalog, &indexed);

	if (r == 0)
		r = catalog_read_begin(checking->fresh.indexing.catalog, &fresh);
	sides.indexed = indexed;
	sides.fresh = fresh;
	return r < 0 ? r : name_differences_find(&checking->names, &sides);
}

/* If another process maintains the index, waits until the index has all changes made so far. */
static int sync_index(struct check_run *checking)
{
	return checking->index.served ? current_index_sync(&checking->index) : 0;
}

static int recheck_names(struct check_run *checking, size_t *left)
{
	CLEANUP_READER struct catalog_reader *indexed = NULL;
	int r = sync_index(checking);

	if (r == 0)
		r = catalog_read_begin(checking->index.catalog, &indexed);
	return r < 0 ? r
		     : name_differences_recheck(&checking->names, indexed, checking->index.sources,
						left);
}

static int check_names(struct check_run *checking)
{
	size_t left = 1;
	int r = sync_index(checking);

	if (r == 0)
		r = find_names(checking);
	if (r == 0)
		name_differences_read_disk(&checking->names, checking->index.sources);
	for (unsigned int rechecks = 0; r == 0 && left > 0 && rechecks < RECHECKS_MAX; rechecks++) {
		if (rechecks > 0)
			clock_sleep_ms(RECHECK_INTERVAL_MS);
		r = stop_requested() ? -EINTR : recheck_names(checking, &left);
	}
	if (r == 0 && left > 0)
		log_info("%zu %s changing; not compared", left,
			 plural(left, "name keeps", "names keep"));
	return r;
}

/* ---- printing ------------------------------------------------------------------------ */

static int print_names(struct check_run *checking)
{
	const struct name_differences *names = &checking->names;
	int r = 0;

	checking->figures.names_checked = true;
	check_print_begin(&checking->printing);
	for (size_t i = 0; r == 0 && i < names->count; i++) {
		if (!names->list[i].confirmed)
			continue;
		checking->figures.names_different++;
		r = check_print_name(&checking->printing, names, &names->list[i]);
	}
	checking->figures.names_compared = names->compared;
	checking->figures.names_cut_off = names->cut_off;
	return r;
}

static int print_contents(struct check_run *checking, struct catalog_reader *reader)
{
	CLEANUP_READER struct catalog_reader *fresh = NULL;
	struct content_sides sides = {.indexed = reader,
				      .sources = checking->index.sources,
				      .printing = &checking->printing,
				      .touched = &checking->touched};
	int r;

	check_print_contents(&checking->printing);
	if (checking->settings->quick) {
		check_print_unverified(&checking->printing);
		return 0;
	}
	checking->figures.contents_compared = true;
	r = catalog_read_begin(checking->fresh.indexing.catalog, &fresh);
	sides.fresh = fresh;
	return r < 0 ? r : content_differences_print(&sides, &checking->figures.contents);
}

static enum twinfs_exit status_of(const struct check_run *checking)
{
	const struct ingest_result *result = &checking->fresh.indexing.ingest.result;
	enum twinfs_exit status = completeness_status(result->errors, result->pending);
	uint64_t count = checking->figures.names_different + checking->figures.contents.differences;

	if (count == 0)
		return status;
	log_warning("the index differs from the disk: %s%" PRIu64 " %s",
		    checking->figures.names_cut_off ? "more than " : "", count,
		    plural(count, "difference", "differences"));
	return TWINFS_EXIT_INCOMPLETE;
}

static int print_all(void *context, const struct current_index *index,
		     struct catalog_reader *reader, struct output *output, enum twinfs_exit *status)
{
	struct check_run *checking = context;
	int r;

	checking->printing.output = output;
	checking->printing.sources = index->sources;
	r = print_names(checking);
	if (r == 0)
		r = print_contents(checking, reader);
	if (r == 0)
		r = check_print_end(&checking->printing, &checking->figures);
	if (r == 0)
		*status = status_of(checking);
	return r;
}

/* ---- repair -------------------------------------------------------------------------- */

/* Files whose contents must be compared again. */
struct touching {
	const uint64_t *files;
	size_t count;
};

static int touch_body(struct catalog_writer *w, void *context)
{
	const struct touching *touching = context;

	return catalog_forget_contents(w, touching->files, touching->count);
}

static int touch_files(struct check_run *checking)
{
	struct touching touching = {.files = (const void *)checking->touched.data};
	size_t left = checking->touched.length / sizeof(*touching.files);
	int r = 0;

	for (; r == 0 && left > 0; left -= touching.count) {
		touching.count = left < TOUCH_BATCH ? left : TOUCH_BATCH;
		r = catalog_write(checking->index.catalog, touch_body, &touching);
		touching.files += touching.count;
	}
	return r;
}

/* Repairs the index: applies all changes of the sources, and compares differing files again. */
static enum twinfs_exit repair(struct check_run *checking)
{
	struct indexing *indexing = &checking->index.indexing;
	const struct ingest_result *result = &indexing->ingest.result;
	int r = touch_files(checking);

	if (r < 0) {
		log_error("cannot repair the index %s: %s", quote_path(indexing->folder),
			  error_text(r));
		return TWINFS_EXIT_FAILED;
	}
	if (indexing_update(indexing, NULL) < 0)
		return TWINFS_EXIT_FAILED;
	log_info("the index %s matches the disk", quote_path(indexing->folder));
	return completeness_status(result->errors, result->pending);
}

/* ---- the steps ----------------------------------------------------------------------- */

/* Prints a report for an index that cannot be read. */
static enum twinfs_exit report_unusable(struct check_run *checking)
{
	const char *folder = checking->index.indexing.folder;
	CLEANUP_OUTPUT struct output output;
	int r;

	output_init(&output, STDOUT_FILENO);
	checking->printing.output = &output;
	checking->figures.structure =
		checking->structure == CATALOG_OLDER ? "of an older format" : "damaged";
	check_print_begin(&checking->printing);
	check_print_contents(&checking->printing);
	check_print_unverified(&checking->printing);
	r = check_print_end(&checking->printing, &checking->figures);
	if (r == 0)
		r = output_flush(&output);
	if (r < 0 && r != -EPIPE && r != -EXDEV)
		log_error("cannot print the check: %s", error_text(r));
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	if (!checking->settings->repair)
		log_warning("cannot use the index %s: it is %s; run 'twinfs scan' to rebuild it",
			    quote_path(folder), checking->figures.structure);
	return TWINFS_EXIT_INCOMPLETE;
}

/* Sets options that were not given to those of the last scan. */
static int read_options(struct check_run *checking)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_SCAN_SETTINGS struct scan_settings known = {0};
	struct index_settings *options = &checking->settings->common.index;
	const char *glob;
	bool excludes = options->excludes.count == 0;
	int r = catalog_read_begin(checking->index.catalog, &reader);

	if (r == 0 && !options->min_size_given)
		r = catalog_get_min_size(reader, &options->min_size);
	if (r == -ENOENT)
		r = 0; /* a new index */
	if (r == 0)
		r = catalog_get_scan_settings(reader, &known);
	for (size_t at = 0; r == 0 && excludes && at < known.excludes.length;
	     at += strlen(glob) + 1) {
		glob = (const char *)known.excludes.data + at;
		r = text_list_add(&options->excludes, glob, strlen(glob));
		if (r == 0)
			r = text_list_add(&options->listed_excludes, glob, strlen(glob));
	}
	if (!options->file_systems_given)
		options->cross_mounts = known.cross_mounts;
	return r;
}

/* Uses the options of the last scan, so that the second index has the same scope. */
static int apply_options(struct check_run *checking)
{
	const struct index_settings *options = &checking->settings->common.index;
	struct indexing *indexing = &checking->index.indexing;
	int r = read_options(checking);

	indexing->ingest_settings.min_size = options->min_size;
	indexing->ingest_settings.cross_mounts = options->cross_mounts;
	indexing->sources.cross_mounts = options->cross_mounts;
	checking->index.served_sources.cross_mounts = options->cross_mounts;
	return r == 0 ? indexing_set_excludes(indexing, options->excludes.items) : r;
}

/* Opens the index for writing. Fails if another process uses it. */
static int open_to_repair(struct check_run *checking)
{
	struct current_index *index = &checking->index;
	struct indexing *indexing = &index->indexing;
	int r;

	indexing->distrusted = checking->structure != CATALOG_OPENED;
	r = index->served ? INDEXING_IN_USE : indexing_open(indexing);
	if (r == INDEXING_IN_USE) {
		index_explain(indexing->folder, CATALOG_IN_USE);
		return -EBUSY;
	}
	index->catalog = indexing->catalog;
	index->sources = &indexing->sources;
	return r;
}

static int compare(struct check_run *checking)
{
	int made = 0, r = apply_options(checking);

	if (r == 0)
		made = fresh_index_make(&checking->fresh, &checking->index,
					&checking->settings->common.index,
					!checking->settings->quick);
	if (r == 0 && made == 0)
		r = check_names(checking);
	if (r == -EINTR || made == -EINTR)
		log_error("cannot finish the check: interrupted; nothing was changed");
	else if (r < 0)
		log_error("cannot check the index %s: %s",
			  quote_path(checking->index.indexing.folder), error_text(r));
	return r < 0 ? r : made;
}

/* Opens the index read-only. Waits for an update by the process that maintains it, so that changes
 * that this process knows are not reported. */
static int attach(struct current_index *index)
{
	int r = current_index_attach(index);

	if (r == 0)
		r = current_index_sync(index);
	if (r == 0)
		r = current_index_check_sources(index);
	return r;
}

static enum twinfs_exit compare_and_repair(struct check_run *checking)
{
	const struct index_printer printer = {.noun = "check",
					      .print = print_all,
					      .context = checking};
	bool repairs = checking->settings->repair;
	enum twinfs_exit status;
	int r = repairs ? open_to_repair(checking) : attach(&checking->index);

	if (r < 0 || compare(checking) < 0)
		return TWINFS_EXIT_FAILED;
	status = index_print(&printer, &checking->index);
	fresh_index_remove(&checking->fresh);
	return repairs && status == TWINFS_EXIT_INCOMPLETE ? repair(checking) : status;
}

static enum twinfs_exit check(struct check_run *checking)
{
	const char *folder = checking->index.indexing.folder;
	enum twinfs_exit status;

	interrupt_watch();
	interrupt_guard(true);
	checking->structure = catalog_check(folder);
	checking->figures.folder = folder;
	checking->figures.structure = "sound";
	if (checking->structure == CATALOG_OPENED)
		return compare_and_repair(checking);
	if (checking->structure != CATALOG_DAMAGED && checking->structure != CATALOG_OLDER) {
		index_explain(folder, checking->structure);
		return TWINFS_EXIT_FAILED;
	}
	status = report_unusable(checking);
	if (status == TWINFS_EXIT_FAILED || !checking->settings->repair)
		return status;
	if (open_to_repair(checking) < 0)
		return TWINFS_EXIT_FAILED;
	return repair(checking);
}

/* Checks the index of the operands, SOURCE... or MOUNTPOINT. */
static enum twinfs_exit run(void *context, char **operands, size_t count)
{
	struct check_settings *settings = context;
	struct check_run checking = {.settings = settings,
				     .printing = {.json = settings->common.json}};
	enum twinfs_exit status = TWINFS_EXIT_FAILED;

	if (current_index_locate(&checking.index, &settings->common.index, operands, count) == 0)
		status = check(&checking);
	fresh_index_remove(&checking.fresh);
	current_index_close(&checking.index);
	name_differences_free(&checking.names);
	bytes_free(&checking.touched);
	return status;
}

/* ---- the command --------------------------------------------------------------------------- */

static const struct option_spec check_options[] = {
	{.heading = "Checking"},
	{
		.name = "quick",
		.help = "check only the index itself, names and attributes; read no file",
		.at = offsetof(struct check_settings, quick),
	},
	{
		.name = "repair",
		.help = "then bring the index up to date, or rebuild it if it is damaged",
		.at = offsetof(struct check_settings, repair),
	},
	{0},
};

const struct command check_command = {
	.options = {.command = "twinfs check",
		    .usage = {"SOURCE...", "MOUNTPOINT"},
		    .summary = "Verifies the index and compares it with the disk: every record, "
			       "every name, and the bytes of every file that may have a copy. "
			       "Prints each difference. The index of a mounted view can also be "
			       "checked.",
		    .options = {check_options, format_option, scan_options, walk_options,
				index_option, message_options}},
	.settings_bytes = sizeof(struct check_settings),
	.lacks_operand = "no SOURCE and no MOUNTPOINT given",
	.run = run,
};
