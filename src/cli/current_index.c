/* SPDX-License-Identifier: MIT */
#include "cli/current_index.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/new_file.h"
#include "base/numbers.h"
#include "base/output.h"
#include "base/path.h"
#include "base/stop.h"
#include "cli/counted.h"
#include "cli/known_index.h"
#include "index/mount_table.h"
#include "index/operands.h"
#include "index/query.h"
#include "index/scan_settings.h"
#include "index/source.h"
#include "row/json_path.h"
#include "scan/index_folder.h"
#include "scan/mapping.h"
#include "scan/source_check.h"
#include "scan/status_file.h"

/* Maximum number of updates that a result waits for while files have no name. */
#define NAMING_UPDATES 3

/* Outcome: no other process maintains the index any more, so this process can update it. */
enum {
	CURRENT_INDEX_ABANDONED = 1
};

/* ---- options of the command --------------------------------------------------------- */

/* Room for --min-size or --disk with its value. */
#define OPTION_TEXT_BYTES 64

/* Logs that an option of the command differs from that of the process that maintains the index.
 *
 * asked, known	both options as on the command line
 */
static int refuse_option(const struct current_index *index, const char *asked, const char *known)
{
	AUTO_FREE char *mount_point = NULL;
	pid_t pid = 0;
	int r = catalog_owner(index->indexing.folder, &pid, &mount_point);

	if (!index->served)
		log_error("cannot use the index %s with %s: the last scan had %s; use the same "
			  "option, or run 'twinfs scan' with the other one first",
			  quote_path(index->indexing.folder), asked, known);
	else if (r == 0 && pid != 0 && mount_point[0] != '\0')
		log_error("cannot use the index with %s: the view at %s maintains the index with "
			  "%s; use the options of the view, unmount the view, or choose another "
			  "index with --index",
			  asked, quote_path(mount_point), known);
	else
		log_error("cannot use the index %s with %s: the last scan had %s; use the same "
			  "options, or %s",
			  quote_path(index->indexing.folder), asked, known,
			  index->indexing.settings->no_scan
				  ? "omit --no-scan"
				  : "try again when no other process uses the index");
	return -EXDEV;
}

static int append_globs(struct bytes *text, const struct bytes *globs)
{
	const char *glob = (const char *)globs->data;
	int r = 0;

	if (globs->length == 0)
		return bytes_append_text(text, "no --exclude");
	for (size_t at = 0; r == 0 && at < globs->length; at += strlen(glob + at) + 1)
		r = bytes_format(text, "%s--exclude=%s", at > 0 ? " " : "", quote_path(glob + at));
	return r;
}

/* Checks --exclude. Further globs are filters, but the index lacks the names that only the last
 * scan left out. */
static int check_excludes(const struct current_index *index, const struct scan_settings *known)
{
	CLEANUP_SCAN_SETTINGS struct scan_settings asked = {0};
	CLEANUP_BYTES struct bytes asked_text = {0};
	CLEANUP_BYTES struct bytes known_text = {0};
	int r;

	if (index->indexing.settings->excludes.count == 0)
		return 0;
	r = scan_settings_set_excludes(&asked, index->indexing.settings->excludes.items);
	if (r < 0 ||
	    (index->use == INDEX_EXACT ? bytes_compare(&asked.excludes, &known->excludes) == 0
				       : scan_settings_exclude_all(&asked, known)))
		return r;
	r = append_globs(&asked_text, &asked.excludes);
	if (r == 0)
		r = append_globs(&known_text, &known->excludes);
	if (r < 0 || !bytes_text(&asked_text) || !bytes_text(&known_text))
		return -ENOMEM;
	return refuse_option(index, bytes_text(&asked_text), bytes_text(&known_text));
}

static const char *file_systems_option(bool cross)
{
	return cross ? "--cross-file-systems" : "--one-file-system";
}

/* Checks --cross-file-systems. An act without this option must not change files of other file
 * systems, even if the index has such files. */
static int check_file_systems(const struct current_index *index, const struct scan_settings *known)
{
	const struct index_settings *settings = index->indexing.settings;

	if (settings->cross_mounts == known->cross_mounts ||
	    (!index->served && (!known->recorded || settings->cross_mounts)))
		return 0;
	if (settings->file_systems_given)
		return refuse_option(index, file_systems_option(settings->cross_mounts),
				     file_systems_option(known->cross_mounts));
	if (index->use == INDEX_ACT)
		return refuse_option(index, "--one-file-system (the default)",
				     file_systems_option(known->cross_mounts));
	return 0;
}

static int check_disk(const struct current_index *index, const struct scan_settings *known)
{
	const struct index_settings *settings = index->indexing.settings;
	char asked[OPTION_TEXT_BYTES], before[OPTION_TEXT_BYTES];

	if (!settings->disk_given || settings->disk == known->disk)
		return 0;
	(void)snprintf(asked, sizeof(asked), "--disk=%s", index_disk_word(settings->disk));
	(void)snprintf(before, sizeof(before), "--disk=%s", index_disk_word(known->disk));
	return refuse_option(index, asked, before);
}

static int check_min_size(const struct current_index *index, struct catalog_reader *reader)
{
	const struct index_settings *settings = index->indexing.settings;
	char asked[OPTION_TEXT_BYTES], known[OPTION_TEXT_BYTES];
	uint64_t min_size;
	int r = catalog_get_min_size(reader, &min_size);

	if (r < 0)
		return r;
	if (!settings->min_size_given || settings->min_size == min_size ||
	    (settings->min_size > min_size && index->use != INDEX_EXACT))
		return 0;
	(void)snprintf(asked, sizeof(asked), "--min-size=%" PRIu64, settings->min_size);
	(void)snprintf(known, sizeof(known), "--min-size=%" PRIu64, min_size);
	return refuse_option(index, asked, known);
}

/* Refuses options while another process updates the index: a part of the index is then from an
 * earlier scan, possibly with other options. */
static int check_unfinished(const struct current_index *index)
{
	const struct index_settings *settings = index->indexing.settings;

	if (!index->unfinished || !settings->file_systems_given)
		return 0;
	log_error("cannot use the index %s with %s: %s", quote_path(index->indexing.folder),
		  file_systems_option(settings->cross_mounts),
		  settings->no_scan
			  ? "its last scan has not ended; omit --no-scan"
			  : "another process is changing it; try again when it has finished");
	return -EXDEV;
}

/* Compares the options of the command with those in a snapshot. The command never narrows the
 * index, and does not scan if another process maintains the index. So an option that the user gave
 * must equal that of the last scan, or act as a filter. An act without --cross-file-systems is
 * refused, too, if the last scan had this option. Returns 0, -EXDEV (logged) if an option is
 * refused, or another -errno. */
static int check_options(const struct current_index *index, struct catalog_reader *reader)
{
	CLEANUP_SCAN_SETTINGS struct scan_settings known = {0};
	int r = index->served ? check_unfinished(index) : 0;

	if (r == 0)
		r = catalog_get_scan_settings(reader, &known);
	if (!index->served)
		return r < 0 ? r : check_file_systems(index, &known);
	if (r == 0)
		r = check_min_size(index, reader);
	if (r == 0)
		r = check_excludes(index, &known);
	if (r == 0)
		r = check_file_systems(index, &known);
	return r < 0 ? r : check_disk(index, &known);
}

/* ---- an index that another process maintains ---------------------------------------------- */

/* Logs why the index was not updated, and the remedy. If the index is only printed, this is a
 * warning; otherwise it is an error, which ends the command.
 *
 * mount_point, pid	of the daemon that maintains the index */
static void report_unfinished(const struct current_index *index, const char *mount_point, pid_t pid,
			      int result)
{
	enum log_level level = index->use == INDEX_READ ? LOG_LEVEL_WARNING : LOG_LEVEL_ERROR;

	if (result == -EBUSY)
		log_at(level, LOG_PROGRAM,
		       "cannot update the index: another process is changing it; try again when it "
		       "has finished");
	else if (result == -ESRCH)
		log_at(level, LOG_PROGRAM,
		       "cannot update the index: the view that maintained it has ended; try again");
	else if (result == -ENOENT)
		log_at(level, LOG_PROGRAM,
		       "cannot update the index: the view at %s, which maintains it, is not "
		       "mounted; try again when it is mounted or has ended",
		       quote_path(mount_point));
	else if (result == -ETIMEDOUT && index_holder_is_stopped(pid))
		log_at(level, LOG_PROGRAM,
		       "cannot update the index: process %d, which maintains it for the view at "
		       "%s, is stopped; continue it with 'kill -CONT %d', or end it with 'kill "
		       "-KILL %d'",
		       (int)pid, quote_path(mount_point), (int)pid, (int)pid);
	else if (result == -ETIMEDOUT)
		log_at(level, LOG_PROGRAM,
		       "cannot update the index: process %d, which maintains it for the view at "
		       "%s, does not answer; try again later, or end it with 'kill -KILL %d'",
		       (int)pid, quote_path(mount_point), (int)pid);
	else
		log_at(level, LOG_PROGRAM,
		       "cannot update the index: the view at %s, which maintains it, reports: %s; "
		       "see 'twinfs status'",
		       quote_path(mount_point), error_text(result));
}

/* On a terminal, logs which work of the view the command waits for. */
static void report_waiting(const char *mount_point)
{
	json_auto_t *status = NULL;
	uint64_t pending;

	if (terminal_width(STDERR_FILENO) == 0 || status_file_read(mount_point, &status) < 0)
		return;
	pending = status_file_number(status, "pending");
	if (pending > 0 && strcmp(status_file_text(status, "state"), "comparing") == 0)
		log_info("waiting for the view at %s, which has to compare %s",
			 quote_path(mount_point), counted(pending, "file", "files").text);
}

/* Sets lacks_moved. The first call logs it. Returns 0 or -errno. */
static int note_moved(struct current_index *index, const char *mount_point)
{
	CLEANUP_BYTES struct bytes path = {0};
	json_auto_t *status = NULL;
	const json_t *source;
	int r = status_file_read(mount_point, &status);

	if (r < 0)
		return r;
	source = status_file_source_with(status, "moved");
	index->lacks_moved = source;
	if (source && !index->synced && json_get_path(source, "path", &path) == 0)
		log_warning("the result is possibly incomplete: folders changed during each of "
			    "several walks of the view, and a file that was moved to %s meanwhile "
			    "can be missing",
			    quote_bytes((const char *)path.data, path.length));
	return 0;
}

static int sync_view(struct current_index *index, const char *mount_point)
{
	int r;

	if (mount_point[0] == '\0')
		return -EBUSY;
	if (!index->synced)
		report_waiting(mount_point);
	r = view_sync(mount_point);
	return r == 0 ? note_moved(index, mount_point) : r;
}

int current_index_sync(struct current_index *index)
{
	const char *folder = catalog_folder(index->catalog);
	AUTO_FREE char *mount_point = NULL;
	pid_t pid = 0;
	int r = catalog_owner(folder, &pid, &mount_point);

	index->abandoned = r == 0 && pid == 0;
	if (index->abandoned && (index->given_count > 0 || index->synced))
		return 0; /* no other process changes the index */
	if (r == 0)
		r = index->abandoned ? -ESRCH : sync_view(index, mount_point);
	else
		r = -EBUSY;
	if (r == -EINTR)
		return r;
	index->unfinished = r < 0;
	if (index->synced)
		return 0;
	index->synced = true;
	if (r < 0)
		report_unfinished(index, mount_point, pid, r);
	else
		log_info("process %d maintains this index for the view at %s", (int)pid,
			 quote_path(mount_point));
	return 0;
}

static int begin_and_count(const struct current_index *index, struct catalog_reader **reader,
			   uint64_t *nameless)
{
	int r = catalog_read_begin(index->catalog, reader);

	*nameless = 0;
	return r == 0 && index->served && !index->indexing.settings->no_scan
		       ? catalog_count_orphans(*reader, nameless)
		       : r;
}

int current_index_begin_whole(struct current_index *index, struct catalog_reader **reader)
{
	uint64_t nameless;
	int r = begin_and_count(index, reader, &nameless);

	for (int i = 0; i < NAMING_UPDATES && r == 0 && nameless > 0 && !index->unfinished; i++) {
		catalog_read_end(TAKE(*reader));
		r = current_index_sync(index);
		if (r == 0)
			r = begin_and_count(index, reader, &nameless);
	}
	index->lacks_files = r == 0 && nameless > 0;
	if (index->lacks_files)
		completeness_name_missed(nameless);
	return r;
}

static void report_unreadable(const char *folder, int result)
{
	log_error("cannot read the index %s: %s", quote_path(folder), error_text(result));
}

static int name_errors(const struct current_index *index)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct catalog_totals totals = {0};
	int r;

	r = catalog_read_begin(index->catalog, &reader);
	if (r == 0)
		r = catalog_get_totals(reader, &totals);
	if (r < 0)
		return r;
	return totals.errors > 0 ? completeness_name_errors(reader, index->sources) : 0;
}

/* Checks that the user gave the sources of the index. Returns 0 or -EXDEV, logged. */
static int check_sources(const struct current_index *index, const char *folder)
{
	const struct sources *sources = index->sources;
	char *const *resolved = index->indexing.paths.items;
	size_t i = 0;

	if (index->given_count == 0)
		return 0;
	while (i < sources->count && resolved[i] && strcmp(sources->list[i].path, resolved[i]) == 0)
		i++;
	if (i == sources->count && !resolved[i])
		return sources_check_operands(sources);
	log_error("cannot use the index %s: it belongs to other sources; choose another with "
		  "--index",
		  quote_path(folder));
	return -EXDEV;
}

int current_index_attach(struct current_index *index)
{
	const char *folder = index->indexing.folder;
	const struct catalog_options options = {
		.folder = folder,
		.read_only = true,
		.copied_if_needed = index->indexing.settings->no_scan,
	};
	int r;

	index->served = true;
	r = catalog_open(&index->catalog, &options);
	if (r != 0) {
		index_explain(folder, r);
		return r < 0 ? r : -EIO;
	}
	r = sources_open(&index->served_sources, index->catalog, NULL,
			 index->indexing.settings->cross_mounts);
	index->sources = &index->served_sources;
	if (r < 0) {
		report_unreadable(folder, r);
		return r;
	}
	return check_sources(index, folder);
}

int current_index_check_options(const struct current_index *index, struct catalog_reader *reader)
{
	return index->served ? check_options(index, reader) : 0;
}

int current_index_check_options_now(const struct current_index *index)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(index->catalog, &reader);

	return r < 0 ? r : current_index_check_options(index, reader);
}

int current_index_check_sources(const struct current_index *index)
{
	enum source_check_use use = index->abandoned ? SOURCE_CHECK_OWN : SOURCE_CHECK_SERVED;

	return source_check(&index->served_sources, index->indexing.settings, use);
}

/* Checks the options of the command, and takes over cross_mounts of the last scan. */
static int take_options(struct current_index *index)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_SCAN_SETTINGS struct scan_settings settings = {0};
	int r = catalog_read_begin(index->catalog, &reader);

	if (r == 0)
		r = current_index_check_options(index, reader);
	if (r == 0)
		r = catalog_get_scan_settings(reader, &settings);
	index->served_sources.cross_mounts = settings.cross_mounts;
	return r;
}

static int report_opening(const struct current_index *index, int result)
{
	if (result < 0 && result != -EINTR && result != -EXDEV && result != -ESTALE)
		report_unreadable(index->indexing.folder, result);
	return result;
}

/* A view can miss stores to mapped memory, writes through names outside of its sources, and disks
 * that are mounted in them. */
static int refuse_proof(const struct current_index *index)
{
	const char *folder = index->indexing.folder;
	AUTO_FREE char *mount_point = NULL;
	pid_t pid = 0;

	if (catalog_owner(folder, &pid, &mount_point) == 0 && mount_point[0] != '\0')
		log_error("cannot prove this with the index of the view at %s, which can miss "
			  "changes; unmount the view, or choose another index with --index",
			  quote_path(mount_point));
	else
		log_error("cannot use the index %s: another process is changing it; try again when "
			  "it has finished",
			  quote_path(folder));
	return -EBUSY;
}

/* Returns 0, CURRENT_INDEX_ABANDONED or -errno, logged. */
static int open_served(struct current_index *index)
{
	int r = index->use == INDEX_PROOF ? refuse_proof(index) : current_index_attach(index);

	if (r < 0)
		return r;
	r = current_index_sync(index);
	if (r == 0 && index->abandoned && index->given_count > 0)
		return CURRENT_INDEX_ABANDONED;
	if (r == 0 && index->unfinished && index->use != INDEX_READ)
		return -EBUSY; /* logged */
	if (r == 0)
		r = current_index_check_sources(index);
	if (r == 0)
		r = take_options(index);
	if (r == 0)
		r = name_errors(index);
	return report_opening(index, r);
}

/* ---- an index that is printed as it is ---------------------------------------------------- */

/* Logs how old the index is, and whether its last scan did not end. Returns 0 or -errno. */
static int date_index(struct current_index *index)
{
	struct catalog_totals totals;
	char date[CLOCK_TEXT_MAX];
	int r = catalog_totals_now(index->catalog, &totals);

	if (r == 0)
		r = catalog_last_scan(index->catalog, &index->last_scan);
	if (r < 0)
		return r;
	log_info("the last scan was at %s; later changes are unknown",
		 clock_format_local(date, index->last_scan));
	index->unfinished = totals.unended != 0;
	if (index->unfinished)
		log_warning("the result is incomplete: the last scan has not ended");
	return 0;
}

static int open_unscanned(struct current_index *index)
{
	int r = current_index_attach(index);

	if (r < 0)
		return r;
	r = take_options(index);
	if (r == 0)
		r = date_index(index);
	if (r == 0)
		r = name_errors(index);
	return report_opening(index, r);
}

/* ---- an index that this process updates -------------------------------------------------- */

static void detach(struct current_index *index)
{
	sources_close(&index->served_sources);
	catalog_close(index->catalog);
	index->catalog = NULL;
	index->served = false;
}

/* Refuses options of a query that an index cannot obey without forgetting what it knows. Returns 0,
 * -EXDEV (logged) or another -errno. */
static int check_own_options(const struct current_index *index)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r;

	if (!index->indexing.widens || index->indexing.has_operands)
		return 0;
	r = catalog_read_begin(index->catalog, &reader);
	if (r == 0)
		r = check_options(index, reader);
	return r == -EUCLEAN ? 0 : r; /* the update finds the damage again, and repairs it */
}

/* A proof is about one moment: what a program moves during the scan must not be missed. */
static int confirm(struct current_index *index)
{
	bool steady;
	int r = indexing_confirm(&index->indexing, &steady);

	index->unfinished = r == 0 && !steady;
	if (index->unfinished)
		log_warning("the result is incomplete: the sources change all the time; try again "
			    "when no program writes to them");
	return r;
}

static int open_own(struct current_index *index)
{
	struct indexing *indexing = &index->indexing;
	int r;

	interrupt_watch();
	interrupt_guard(index->use != INDEX_ACT);
	while ((r = indexing_open(indexing)) == INDEXING_IN_USE) {
		if (indexing->has_operands) { /* the other process has operands of its own */
			index_explain(indexing->folder, CATALOG_IN_USE);
			return -EBUSY;
		}
		r = open_served(index);
		if (r != CURRENT_INDEX_ABANDONED)
			return r;
		detach(index);
	}
	index->catalog = indexing->catalog;
	index->sources = &indexing->sources;
	if (r == 0)
		r = check_own_options(index);
	if (r == 0)
		r = indexing_update(indexing, NULL);
	if (r == 0 && indexing->wary)
		r = confirm(index);
	index->catalog = indexing->catalog; /* a damaged index was replaced */
	index->unfinished |= indexing->operands.unfound > 0 ||
			     (!indexing->wary && indexing->ingest.result.moved);
	return r;
}

/* ---- choice of the index ------------------------------------------------------------------ */

/* Sets *point to the operand's path if it is the mount point of a view, else to NULL. A bind mount
 * of a folder of a view is none. The caller frees it. */
static int find_mount_point(const char *operand, char **point)
{
	AUTO_FREE char *absolute = realpath(operand, NULL);
	CLEANUP_TABLE struct mount_table table = {0};
	const struct mountinfo *entry;
	int r;

	*point = NULL;
	if (!absolute)
		return 0;
	r = mount_table_read(&table);
	entry = r == 0 ? mount_table_covering(&table, absolute) : NULL;
	if (!entry || !mount_entry_is_view(entry) || strcmp(entry->root, "/") != 0 ||
	    strcmp(entry->point, absolute) != 0)
		return r;
	*point = strdup(absolute);
	return *point ? 0 : -ENOMEM;
}

bool current_index_is_view(const char *operand)
{
	AUTO_FREE char *point = NULL;

	return find_mount_point(operand, &point) == 0 && point;
}

static int locate_view_index(struct current_index *index, const char *point)
{
	CLEANUP_BYTES struct bytes folder = {0};
	int r = status_file_index(point, &folder);

	if (r < 0) {
		status_file_explain(point, r == -ENOENT ? -EPROTO : r);
		return r;
	}
	index->served = true;
	index->indexing.folder = bytes_text(&folder) ? strdup(bytes_text(&folder)) : NULL;
	return index->indexing.folder ? 0 : -ENOMEM;
}

int current_index_locate(struct current_index *index, const struct index_settings *settings,
			 char *const *operands, size_t count)
{
	AUTO_FREE char *point = NULL;

	*index = (struct current_index){.indexing.settings = settings};
	if (count == 1 && find_mount_point(operands[0], &point) == 0 && point)
		return locate_view_index(index, point);
	index->given = operands;
	index->given_count = count;
	return indexing_locate(&index->indexing, settings, operands, count);
}

int current_index_open(struct current_index *index, const struct index_settings *settings,
		       char *const *operands, size_t count, enum index_use use)
{
	int r = current_index_locate(index, settings, operands, count);

	index->use = use;
	index->indexing.wary = use == INDEX_EXACT || use == INDEX_PROOF;
	index->indexing.widens = use != INDEX_EXACT;
	index->indexing.left_out_named = use == INDEX_ACT;
	if (r < 0)
		return r;
	if (settings->no_scan)
		r = open_unscanned(index);
	else
		r = index->served ? open_served(index) : open_own(index);
	if (r < 0 || index->indexing.left_out_named)
		return r;
	return completeness_name_left_out(index->catalog, index->sources, settings);
}

void current_index_close(struct current_index *index)
{
	if (index->served) {
		sources_close(&index->served_sources);
		catalog_close(index->catalog);
	}
	indexing_close(&index->indexing);
}

enum twinfs_exit current_index_status(const struct current_index *index, uint64_t errors,
				      uint64_t pending)
{
	enum twinfs_exit status = completeness_status(errors, pending);

	return current_index_is_incomplete(index) ? TWINFS_EXIT_INCOMPLETE : status;
}

/* ---- reclaimable bytes after other sharing ------------------------------------------ */

static int explain_remap(const struct current_index *index, int result)
{
	if (result < 0)
		log_error("cannot update in the index %s what can be freed: %s",
			  quote_path(catalog_folder(index->catalog)), error_text(result));
	return result;
}

int index_remap_begin(const struct current_index *index)
{
	return explain_remap(index, index->served ? 0 : mapping_begin_again(index->catalog));
}

static int remap_own(struct current_index *index)
{
	uint64_t due;

	return index->served ? 0 : mapping_run(index->catalog, index->sources, true, &due);
}

/* Returns whether a source contains another one, or is the same. */
static bool have_common_files(const struct sources *sources, const struct served_sources *served)
{
	for (size_t i = 0; i < sources->count; i++) {
		for (size_t j = 0; j < served->paths.count; j++) {
			const char *a = sources->list[i].path, *b = served->paths.items[j];

			if (path_below(a, b) || path_below(b, a))
				return true;
		}
	}
	return false;
}

static int remap_view(const struct current_index *index, const char *point)
{
	CLEANUP_SERVED_SOURCES struct served_sources served = {0};
	int r = served_sources_read(&served, point);

	if (r < 0 || !served.answers || !have_common_files(index->sources, &served))
		return r == -ENOMEM ? r : 0;
	r = view_remap(point);
	if (r < 0)
		log_warning("cannot update in the view at %s what can be freed: %s; read its "
			    ".twinfs/remap",
			    quote_path(point), error_text(r));
	return 0;
}

static int remap_views(const struct current_index *index)
{
	CLEANUP_TABLE struct mount_table table = {0};
	int r = mount_table_read(&table);

	for (size_t i = 0; r == 0 && i < table.count; i++) {
		if (mount_entry_is_view(&table.entries[i]))
			r = remap_view(index, table.entries[i].point);
	}
	return r;
}

int index_remap(struct current_index *index)
{
	int r = remap_own(index);

	if (r == 0)
		r = remap_views(index);
	return explain_remap(index, r);
}

/* ---- the sources as the user wrote them ----------------------------------------------------- */

/* Returns the given path that leads to a source, or the path of the source. */
static const char *find_given(const struct current_index *index, const char *source)
{
	for (size_t i = 0; i < index->given_count; i++) {
		AUTO_FREE char *absolute = realpath(index->given[i], NULL);

		if (absolute && strcmp(absolute, source) == 0)
			return index->given[i];
	}
	return source;
}

/* Returns the path of the folder of the operands relative to the current folder, if the user gave
 * all names so and it is in the current folder. */
static const char *find_relative(const struct operands *operands, const char *source)
{
	AUTO_FREE char *here = operands->relative ? realpath(".", NULL) : NULL;
	const char *below = here ? path_below(source, here) : NULL;

	if (!below)
		return source;
	return *below ? below : ".";
}

const char **shown_paths_find(const struct current_index *index)
{
	const struct sources *sources = index->sources;
	const char **shown = calloc(sources->count + 1, sizeof(*shown));

	for (size_t i = 0; shown && i < sources->count; i++)
		shown[i] = sources->operands
				   ? find_relative(sources->operands, sources->list[i].path)
				   : find_given(index, sources->list[i].path);
	return shown;
}

/* ---- printing -------------------------------------------------------------------------------- */

struct destination {
	int fd;
	int spool; /* for fd; -1: none */
};

/* Prints to a file, or to a spool for it. */
static int print_to(const struct index_printer *printer, struct current_index *index,
		    struct destination to, enum twinfs_exit *status)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_OUTPUT struct output output;
	int r;

	output_init(&output, to.spool >= 0 ? to.spool : to.fd);
	output.terminal = isatty(to.fd) == 1;
	r = printer->whole ? current_index_begin_whole(index, &reader)
			   : catalog_read_begin(index->catalog, &reader);
	if (r == 0)
		r = printer->print(printer->context, index, reader, &output, status);
	return r < 0 ? r : output_flush(&output);
}

/* Prints into a temporary file first. Without the file, a snapshot of the daemon's index would stay
 * open for as long as a pager shows the output. */
static int print_through_spool(const struct index_printer *printer, struct current_index *index,
			       enum twinfs_exit *status)
{
	AUTO_CLOSE int spool = spool_open();
	int r;

	if (spool < 0)
		return spool;
	r = print_to(printer, index, (struct destination){STDOUT_FILENO, spool}, status);
	return r < 0 ? r : spool_copy(spool, STDOUT_FILENO);
}

void index_explain_failure(int result, const char *format, ...)
{
	char what[128];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	if (result == -EUCLEAN)
		log_error("cannot %s: the index is damaged; run 'twinfs scan' to rebuild it", what);
	else if (result != -EINTR && result != -EXDEV)
		log_error("cannot %s: %s", what, error_text(result));
}

/* Logs a failure. A closed pipe and an interrupt are not logged. */
static void explain(const struct index_printer *printer, int result)
{
	if (result == -EPIPE)
		log_mark_reported(); /* the reader closed the pipe on purpose */
	else
		index_explain_failure(result, "print the %s", printer->noun);
}

enum twinfs_exit index_print(const struct index_printer *printer, struct current_index *index)
{
	return index_print_to(printer, index, STDOUT_FILENO);
}

enum twinfs_exit index_print_to(const struct index_printer *printer, struct current_index *index,
				int fd)
{
	enum twinfs_exit status = TWINFS_EXIT_COMPLETE;
	int r;

	if (index->served && fd == STDOUT_FILENO)
		r = print_through_spool(printer, index, &status);
	else
		r = print_to(printer, index, (struct destination){fd, -1}, &status);
	if (!index->served)
		catalog_judge(index->catalog, r);
	if (r < 0) {
		explain(printer, r);
		return TWINFS_EXIT_FAILED;
	}
	return current_index_is_incomplete(index) ? TWINFS_EXIT_INCOMPLETE : status;
}
