/* SPDX-License-Identifier: MIT */
#include "scan/indexing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/recovery.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/thread.h"
#include "index/change.h"
#include "index/query.h"
#include "index/scan_settings.h"
#include "index/source_change.h"
#include "scan/index_folder.h"
#include "scan/ingest.h"
#include "scan/mapping.h"
#include "scan/source_check.h"

/* ---- settings ------------------------------------------------------------------------------- */

/* Default of --min-size: only empty files are left out. */
#define MIN_SIZE_DEFAULT 1

static const char *const disk_words[] = {
	[INGEST_DISK_AUTO] = "auto",
	[INGEST_DISK_ROTATING] = "rotating",
	[INGEST_DISK_SOLID] = "solid",
};

void index_settings_init(struct index_settings *settings)
{
	*settings = (struct index_settings){.min_size = MIN_SIZE_DEFAULT};
}

void index_settings_deinit(struct index_settings *settings)
{
	text_list_free(&settings->excludes);
	text_list_free(&settings->listed_excludes);
}

const char *index_disk_word(uint32_t disk)
{
	return disk < ARRAY_SIZE(disk_words) ? disk_words[disk] : "unknown";
}

/* Longest wait for files that are being written. This limit exceeds the guard time of remote and
 * unknown file systems (2 s), so that only files that keep changing are left pending. */
#define PATIENCE_MS 2500

/* Longest time that a daemon needs to end after its view was unmounted, even if it has to kill its
 * mounter process (view/fuse/mounter.h). */
#define ENDING_MS 12000
/* Maximum number of walks that follow a scan until one finds no change. */
#define CONFIRMING_WALKS 4
/* Interval at which the index is tried again while a daemon ends. */
#define ENDING_POLL_MS 20

/* ---- the scope of a scan ------------------------------------------------------------ */

/* Adds the globs of the options; with known, only those that the last scan also had. */
static int add_excludes(struct text_list *list, const struct text_list *globs,
			const struct scan_settings *known)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < globs->count; i++) {
		if (!known || scan_settings_exclude(known, globs->items[i]))
			r = text_list_add(list, globs->items[i], strlen(globs->items[i]));
	}
	return r;
}

/* Reads the options of the last scan. Sets known->recorded to false if there was none. The update
 * of a damaged index finds the damage again, and rebuilds the index. */
static int read_known(struct catalog *catalog, struct scan_settings *known, uint64_t *min_size)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(catalog, &reader);

	if (r == 0)
		r = catalog_get_scan_settings(reader, known);
	if (r == 0)
		r = catalog_get_min_size(reader, min_size);
	if (r != -EUCLEAN)
		return r;
	known->recorded = false;
	return 0;
}

/* Sets which files the scan indexes and compares, by the options. The scan of a query also includes
 * everything that the last scan included. So it only adds to the index, and the options of the
 * query are filters. Returns 0 or -errno. */
static int find_scope(struct indexing *indexing)
{
	CLEANUP_SCAN_SETTINGS struct scan_settings known = {0};
	const struct index_settings *settings = indexing->settings;
	struct ingest_settings *scope = &indexing->ingest_settings;
	uint64_t min_size = 0;
	int r = indexing->widens ? read_known(indexing->catalog, &known, &min_size) : 0;

	scope->min_size = settings->min_size;
	scope->cross_mounts = settings->cross_mounts;
	if (r == 0)
		r = add_excludes(&indexing->globs, &settings->excludes,
				 known.recorded ? &known : NULL);
	if (r < 0 || !known.recorded)
		return r;
	if (min_size < scope->min_size)
		scope->min_size = min_size;
	/* which file systems are entered depends on the operands, which replace those of the last
	 * scan */
	if (!indexing->has_operands)
		scope->cross_mounts |= known.cross_mounts;
	return 0;
}

/* ---- progress ----------------------------------------------------------------------- */

/* Interval between two updates of the progress line. */
#define INTERVAL_NS (200 * MS_NS)

struct progress_counts progress_counts_of(const struct ingest *ingest, enum progress_phase phase)
{
	const struct ingest_progress *from = &ingest->progress;

	if (phase == PROGRESS_NAMES)
		return (struct progress_counts){.files_done = atomic_load(&from->names)};
	return (struct progress_counts){
		.files_done = atomic_load(&from->compared),
		.files_total = atomic_load(&from->candidates),
		.bytes_done = atomic_load(&from->compared_bytes),
		.bytes_total = atomic_load(&from->candidate_bytes),
	};
}

/* A thread that shows the progress of an ingest on stderr while another thread works.
 *
 *	worker: ingest_names(), ingest_contents() --> ingest->progress (atomic counters)
 *	                                                     |
 *	progress thread: waits 200 ms or for the end --------'--> progress line on stderr
 */
struct progress_watch {
	struct progress progress;
	const struct ingest *ingest; /* borrowed */
	enum progress_phase phase;
	bool running;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool end; /* under lock */
};

static void *show(void *context)
{
	struct progress_watch *watch = context;

	pthread_mutex_lock(&watch->lock);
	while (!watch->end) {
		struct progress_counts counts = progress_counts_of(watch->ingest, watch->phase);

		progress_update(&watch->progress, &counts);
		timed_wait(&watch->ended, &watch->lock, clock_monotonic_ns() + INTERVAL_NS);
	}
	pthread_mutex_unlock(&watch->lock);
	return NULL;
}

/* Starts the thread, if progress is to be shown. If it cannot be started, no progress is shown. The
 * ingest is borrowed until progress_watch_end(). */
static void progress_watch_begin(struct progress_watch *watch, const struct ingest *ingest,
				 enum progress_phase phase, enum progress_when when)
{
	memset(watch, 0, sizeof(*watch));
	watch->ingest = ingest;
	watch->phase = phase;
	pthread_mutex_init(&watch->lock, NULL);
	timed_wait_init(&watch->ended);
	progress_start(&watch->progress, when, phase == PROGRESS_NAMES ? "walking" : "comparing");
	watch->running = progress_is_shown(&watch->progress) &&
			 thread_start(&watch->thread, show, watch) == 0;
}

/* Ends the thread and the progress (progress_end()). */
static void progress_watch_end(struct progress_watch *watch)
{
	struct progress_counts counts;

	if (watch->running) {
		pthread_mutex_lock(&watch->lock);
		watch->end = true;
		pthread_cond_signal(&watch->ended);
		pthread_mutex_unlock(&watch->lock);
		pthread_join(watch->thread, NULL);
	}
	counts = progress_counts_of(watch->ingest, watch->phase);
	progress_end(&watch->progress, &counts);
	pthread_cond_destroy(&watch->ended);
	pthread_mutex_destroy(&watch->lock);
}

/* ---- operands and sources ----------------------------------------------------------- */

/* Returns whether the user named a file. */
static bool names_file(char *const *given, size_t count)
{
	struct stat status;

	for (size_t i = 0; i < count; i++) {
		if (fstatat(AT_FDCWD, given[i], &status, AT_NO_AUTOMOUNT) == 0 &&
		    !S_ISDIR(status.st_mode))
			return true;
	}
	return false;
}

/* Finds the operands and the folder of their index. Returns 0 or -errno, logged. */
static int locate_operands(struct indexing *indexing, char *const *given, size_t count)
{
	const struct index_settings *settings = indexing->settings;
	struct operands *operands = &indexing->operands;
	int r;

	if (settings->no_scan) {
		log_error("cannot use --no-scan with single files; omit it, or print the whole "
			  "index with --index=DIR and no names");
		return -EINVAL;
	}
	indexing->has_operands = true;
	if (settings->names_from)
		r = operands_read(operands, settings->names_from);
	else
		r = operands_find(operands, given, count);
	if (r == 0)
		r = text_list_add(&indexing->paths, operands->folder, strlen(operands->folder));
	if (r < 0)
		return r;
	return index_folder_for_operands(operands, settings->folder, &indexing->folder);
}

int indexing_locate(struct indexing *indexing, const struct index_settings *settings,
		    char *const *given, size_t count)
{
	int r;

	memset(indexing, 0, sizeof(*indexing));
	indexing->settings = settings;
	if (settings->takes_files && (settings->names_from || names_file(given, count)))
		return locate_operands(indexing, given, count);
	if (settings->no_scan)
		r = source_paths_recall(given, count, &indexing->paths);
	else
		r = source_paths_resolve(given, count, &indexing->paths);
	for (size_t i = 0; r == 0 && !settings->no_scan && i < indexing->paths.count; i++)
		r = source_check_content(indexing->paths.items[i]);
	if (r == 0 && !settings->no_scan)
		r = source_check_mount_points(indexing->paths.items, settings);
	if (r < 0)
		return r;
	if (!settings->folder)
		return index_folder_for_sources(indexing->paths.items, &indexing->folder);
	r = index_folder_given(settings->folder, &indexing->folder);
	if (r < 0 || settings->no_scan)
		return r;
	return index_folder_check_new(indexing->folder, indexing->paths.items);
}

/* Undoes interrupted acts before the sources are walked, so that the walk finds files under their
 * own names. */
static void undo_interrupted_acts(const char *folder)
{
	struct recovery undone;
	int r = recovery_run_of(folder, NULL, &undone);

	if (r < 0 && r != -EWOULDBLOCK)
		log_warning("cannot undo interrupted acts in the journal in %s: %s; run 'twinfs "
			    "recover'",
			    quote_path(folder), error_text(r));
}

/* Opens the index. Waits for a daemon that is ending, so that a user can mount a view again
 * directly after it was unmounted. */
static int open_when_free(struct catalog **catalog, const struct catalog_options *options)
{
	uint64_t until_ns = clock_monotonic_ns() + ENDING_MS * MS_NS;
	int r;

	do {
		r = catalog_open(catalog, options);
		if (r != CATALOG_IN_USE || stop_requested() ||
		    !index_holder_may_end(options->folder))
			return r;
		clock_sleep_ms(ENDING_POLL_MS);
	} while (clock_monotonic_ns() < until_ns);
	return r;
}

static int accept_sources(const struct indexing *indexing)
{
	int r = sources_accept(&indexing->sources);

	if (r < 0)
		log_error("cannot write to the index %s: %s", quote_path(indexing->folder),
			  error_text(r));
	return r;
}

static void free_scope(struct indexing *indexing)
{
	patterns_free(&indexing->excludes);
	text_list_free(&indexing->globs);
}

/* Opens the sources for the scope of the scan. */
static int open_sources(struct indexing *indexing)
{
	const struct index_settings *settings = indexing->settings;
	int r;

	free_scope(indexing);
	r = find_scope(indexing);
	if (r < 0) {
		log_error("cannot read the index %s: %s", quote_path(indexing->folder),
			  error_text(r));
		return r;
	}
	if (indexing->has_operands)
		r = sources_open_operands(&indexing->sources, indexing->catalog,
					  &indexing->operands);
	else
		r = sources_open(&indexing->sources, indexing->catalog, indexing->paths.items,
				 indexing->ingest_settings.cross_mounts);
	/* the folder of the other index has that of this one */
	if (r == 0 && indexing->beside)
		r = own_add(&indexing->sources.own, indexing->catalog,
			    catalog_folder(indexing->beside));
	/* the operands exist, so it does not matter what else changed in their folder */
	if (r == 0 && !indexing->has_operands)
		r = source_check(&indexing->sources, settings,
				 indexing->wary ? SOURCE_CHECK_WARY : SOURCE_CHECK_OWN);
	if (r == 0)
		r = indexing_set_excludes(indexing, indexing->globs.items);
	return r == 0 ? accept_sources(indexing) : r;
}

int indexing_set_excludes(struct indexing *indexing, char *const *globs)
{
	patterns_free(&indexing->excludes);
	indexing->ingest_settings.excludes = &indexing->excludes;
	return patterns_make(&indexing->excludes, globs, &indexing->sources, PATTERN_TO_EXCLUDE);
}

/* If the index is new, opens other indexes that know its files. A temporary index for a check reads
 * everything itself. */
static int open_shared(struct indexing *indexing)
{
	struct catalog_totals totals;
	int r;

	if (indexing->beside)
		return 0;
	r = catalog_totals_now(indexing->catalog, &totals);
	if (r < 0)
		return r;
	if (totals.names == 0 && totals.comparisons == 0)
		r = shared_contents_open(&indexing->shared, indexing->folder,
					 indexing->paths.items);
	indexing->ingest_settings.lenders = &indexing->shared;
	shared_contents_offer(indexing->catalog, indexing->paths.items);
	return r;
}

static int set_keep_body(struct catalog_writer *w, void *context)
{
	const struct indexing *indexing = context;

	return catalog_set_keep_rules(w, indexing->given_keep);
}

static int read_keep_rules(struct indexing *indexing)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(indexing->catalog, &reader);

	keep_rules_free(&indexing->keep);
	return r < 0 ? r : catalog_get_keep_rules(reader, &indexing->keep);
}

/* Stores the keep rules that were given, and reads those of the index. */
static int set_keep_rules(struct indexing *indexing)
{
	int r = 0;

	if (indexing->given_keep)
		r = patterns_set_keep_rules(indexing->given_keep, &indexing->sources);
	if (r == 0 && indexing->given_keep)
		r = catalog_write(indexing->catalog, set_keep_body, indexing);
	if (r == 0)
		r = read_keep_rules(indexing);
	if (r == -EUCLEAN)
		return 0; /* the update finds the damage again, and repairs it */
	if (r < 0)
		log_error("cannot write the keep rules to the index %s: %s",
			  quote_path(indexing->folder), error_text(r));
	return r;
}

int indexing_open(struct indexing *indexing)
{
	const struct index_settings *settings = indexing->settings;
	const struct catalog_options options = {.folder = indexing->folder,
						.distrusted = indexing->distrusted,
						.beside = indexing->beside};
	int r = open_when_free(&indexing->catalog, &options);

	if (r == CATALOG_IN_USE)
		return INDEXING_IN_USE;
	if (r != 0) {
		index_explain(indexing->folder, r);
		return r < 0 ? r : -EIO;
	}
	undo_interrupted_acts(indexing->folder);
	indexing->ingest_settings = (struct ingest_settings){
		.disk = settings->disk,
		.patience_ms = PATIENCE_MS,
		.names_only = settings->names_only,
	};
	r = open_sources(indexing);
	if (r == 0)
		r = open_shared(indexing);
	if (r == 0)
		r = set_keep_rules(indexing);
	if (r < 0)
		return r;
	indexing->ingest = (struct ingest){
		.catalog = indexing->catalog,
		.sources = &indexing->sources,
		.settings = &indexing->ingest_settings,
	};
	return 0;
}

/* Logs and counts which globs of --exclude matched no name. Globs from a file are skipped: such a
 * list is often for many sources. Returns 0 or -ENOMEM. */
static int explain_unmatched(struct indexing *indexing)
{
	CLEANUP_SCAN_SETTINGS struct scan_settings given = {0}, listed = {0};
	const struct index_settings *settings = indexing->settings;
	char *const *globs = indexing->excludes.globs;
	int r = scan_settings_set_excludes(&given, settings->excludes.items);

	if (r == 0)
		r = scan_settings_set_excludes(&listed, settings->listed_excludes.items);
	indexing->unmatched_excludes = 0;
	for (size_t i = 0; r == 0 && !indexing->beside && i < indexing->excludes.count; i++) {
		if (indexing->excludes.matched[i] || !scan_settings_exclude(&given, globs[i]) ||
		    scan_settings_exclude(&listed, globs[i]))
			continue;
		log_warning("--exclude=%s matches no name in the sources", quote_path(globs[i]));
		indexing->unmatched_excludes++;
	}
	return r;
}

/* While the sources are followed, the daemon maps extents in a thread of its own. */
static int update_contents(struct indexing *indexing)
{
	uint64_t due;
	int r = ingest_contents(&indexing->ingest);

	if (r < 0 || indexing->hooks || stop_requested())
		return r;
	return mapping_run(indexing->catalog, &indexing->sources, true, &due);
}

static int run_phase(struct indexing *indexing, enum progress_phase phase, enum progress_when when)
{
	struct progress_watch watch;
	int r;

	indexing->ingest.hooks = indexing->hooks;
	progress_watch_begin(&watch, &indexing->ingest, phase, when);
	if (phase == PROGRESS_NAMES)
		r = ingest_names(&indexing->ingest);
	else
		r = update_contents(indexing);
	progress_watch_end(&watch);
	catalog_judge(indexing->catalog, r);
	if (r == 0 && phase == PROGRESS_NAMES && !stop_requested())
		r = explain_unmatched(indexing);
	return r;
}

static int explain_failure(const struct indexing *indexing, int result)
{
	if (result == -EUCLEAN)
		log_error("cannot update the index %s: it is damaged; the next start rebuilds it",
			  quote_path(indexing->folder));
	else if (result == -EFBIG)
		log_error("cannot update the index %s: %s; raise the limit with 'ulimit -f "
			  "unlimited', "
			  "or use another disk with --index",
			  quote_path(indexing->folder), error_text(result));
	else if (result < 0)
		log_error("cannot update the index %s: %s", quote_path(indexing->folder),
			  error_text(result));
	return result;
}

/* Rebuilds a corrupt index: closing sets it aside, opening creates a new one. */
static int rebuild(struct indexing *indexing)
{
	int r;

	log_warning("cannot use the index %s: it is damaged; rebuilding it",
		    quote_path(indexing->folder));
	sources_close(&indexing->sources);
	shared_contents_close(&indexing->shared);
	catalog_close(indexing->catalog);
	indexing->catalog = NULL;
	r = indexing_open(indexing);
	return r == INDEXING_IN_USE ? -EBUSY : r; /* another process opened the index first */
}

static int walk_names(struct indexing *indexing, enum progress_when when)
{
	int r = run_phase(indexing, PROGRESS_NAMES, when);

	if (r != -EUCLEAN)
		return r;
	r = rebuild(indexing);
	return r < 0 ? r : run_phase(indexing, PROGRESS_NAMES, when);
}

/* Walks the names, and takes the contents that other indexes know. */
static int update_names(struct indexing *indexing, enum progress_when when)
{
	int r = walk_names(indexing, when);

	if (r == 0)
		r = shared_contents_take(&indexing->shared, &indexing->sources,
					 indexing->ingest_settings.min_size);
	shared_contents_close(&indexing->shared);
	if (r == 0 && !indexing->left_out_named) {
		indexing->left_out_named = true;
		r = completeness_name_left_out(indexing->catalog, &indexing->sources,
					       indexing->settings);
	}
	return r;
}

int indexing_names(struct indexing *indexing, enum progress_when when)
{
	return explain_failure(indexing, update_names(indexing, when));
}

int indexing_contents(struct indexing *indexing, enum progress_when when)
{
	return explain_failure(indexing, run_phase(indexing, PROGRESS_CONTENTS, when));
}

static int update(struct indexing *indexing, struct indexing_times *times)
{
	enum progress_when when = indexing->settings->progress;
	int r;

	r = update_names(indexing, when);
	times->named_ns = clock_monotonic_ns();
	if (r == 0 && !stop_requested() && !indexing->settings->names_only)
		r = run_phase(indexing, PROGRESS_CONTENTS, when);
	return r;
}

/* Logs why a scan failed or was interrupted. Returns 0, -EINTR or another -errno. */
static int explain_end(const struct indexing *indexing, int result)
{
	if (result == 0 && stop_requested()) {
		log_error("cannot finish the scan: interrupted; run the command again to continue");
		return -EINTR;
	}
	return explain_failure(indexing, result);
}

/* Walks the sources without comparing contents. Sets *changed to whether the index changed. */
static int walk_again(struct indexing *indexing, bool *changed)
{
	struct catalog_totals before, after;
	int r = catalog_totals_now(indexing->catalog, &before);

	indexing->ingest_settings.repeats = true;
	indexing->ingest_settings.names_only = true;
	if (r == 0)
		r = ingest_names(&indexing->ingest);
	indexing->ingest_settings.repeats = false;
	indexing->ingest_settings.names_only = false;
	if (r == 0)
		r = catalog_totals_now(indexing->catalog, &after);
	*changed = r == 0 && before.generation != after.generation;
	return r;
}

/* Walks again as long as names were possibly moved during a walk. A file that is moved from a
 * directory not yet listed to one already listed is in no listing of the walk. */
static int follow_moves(struct indexing *indexing)
{
	bool changed = false;
	int r = 0;

	for (int i = 0;
	     i < CONFIRMING_WALKS && r == 0 && indexing->ingest.result.moved && !stop_requested();
	     i++) {
		/* else a change before the walk has the time at which the walk begins */
		stop_or_await_file_time(indexing->ingest.result.moved_ns);
		r = walk_again(indexing, &changed);
		if (r == 0 && changed && !stop_requested() && !indexing->settings->names_only)
			r = run_phase(indexing, PROGRESS_CONTENTS, indexing->settings->progress);
	}
	if (r == 0 && indexing->ingest.result.moved)
		log_warning("the result is possibly incomplete: folders changed during each of "
			    "several walks, and a file that was moved between them can be missing");
	return r;
}

int indexing_update(struct indexing *indexing, struct indexing_times *times)
{
	struct indexing_times found = {.begin_ns = clock_monotonic_ns()};
	int r;

	r = update(indexing, &found);
	if (r == -EUCLEAN && !stop_requested()) {
		r = rebuild(indexing);
		if (r == 0)
			r = update(indexing, &found);
	}
	if (r == 0 && !indexing->wary)
		r = follow_moves(indexing);
	found.end_ns = clock_monotonic_ns();
	if (times)
		*times = found;
	return explain_end(indexing, r);
}

int indexing_confirm(struct indexing *indexing, bool *steady)
{
	bool changed = true;
	int r = 0;

	for (int i = 0; i < CONFIRMING_WALKS && r == 0 && changed && !stop_requested(); i++) {
		r = walk_again(indexing, &changed);
		if (r == 0 && changed && !stop_requested())
			r = indexing_contents(indexing, indexing->settings->progress);
	}
	*steady = !changed;
	return explain_end(indexing, r);
}

void indexing_close(struct indexing *indexing)
{
	sources_close(&indexing->sources);
	shared_contents_close(&indexing->shared);
	catalog_close(indexing->catalog);
	free_scope(indexing);
	keep_rules_free(&indexing->keep);
	free(indexing->folder);
	text_list_free(&indexing->paths);
	operands_free(&indexing->operands);
	memset(indexing, 0, sizeof(*indexing));
}
