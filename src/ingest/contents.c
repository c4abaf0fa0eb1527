/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/memory_limit.h"
#include "base/size.h"
#include "base/stop.h"
#include "base/system_call.h"
#include "base/threads.h"
#include "catalog/scan.h"
#include "ingest/compare.h"
#include "ingest/contents_state.h"
#include "ingest/read_prefixes.h"

/* plan -> window -> prefixes, read by all threads -> decided ---------------> results -> catalog
 *                                                `-> undecided -> compared by all threads -^
 *
 * A window is one round of these stages. Its results are committed while the next window is read.
 * On disks that seek, both stages take files in the order of the disk (disk_order.h).
 *
 * Memory: 56 bytes for each candidate, about 150 for each prefix, and the bytes of small contents.
 * Candidates and prefixes take at most 16 MiB. On machines with little memory the limits are parts
 * of the available memory.
 */
#define WINDOW_BYTES ((size_t)16 << 20)
#define WINDOW_PART 8
#define BYTES_A_FILE 256
/* A comparison has several windows, so that files are read during most commits. Each window passes
 * through the directories and the index again, so windows are not small. */
#define WINDOW_FILES_MIN ((size_t)32 << 10)
#define WINDOWS 4
#define CACHED_BYTES ((size_t)16 << 20)
#define CACHED_PART 16

/* Minimum number of comparing threads, unless the user chose a number. They often wait for the
 * disk, so several run even on few processors. Each thread needs a few MiB for blocks. */
#define COMPARERS_MIN 4

#define PAUSE_MS_MIN 25
#define PAUSE_MS_MAX 400

/* ---- one window ---------------------------------------------------------------------- */

/* Adds the results of a prefix whose files need not be compared further. */
static int emit_decided(struct contents *contents, const struct prefix *prefix, struct bytes *files)
{
	const struct candidate *window = contents->window.list, *candidate;
	struct class_result class = {.size = prefix->key.size, .hash = prefix->key.hash};
	int r = 0;

	for (const struct content *content = prefix->contents; content; content = content->next) {
		files->length = 0;
		for (uint32_t at = content->first; r == 0 && at; at = candidate->next) {
			candidate = &window[at - 1];
			r = bytes_append(files,
					 &(struct file_result){candidate->file, candidate->digest,
							       prefix_of(prefix->key.hash)},
					 sizeof(struct file_result));
		}
		class.count = content->count;
		if (r == 0)
			r = results_add_class(&contents->results, &class,
					      (const void *)files->data);
		if (r < 0)
			return r;
	}
	if (!is_small(prefix->key.size))
		contents_count_done(contents, prefix->files,
				    size_multiply(prefix->files, prefix->key.size));
	return 0;
}

static int add_undecided(struct contents *contents, struct prefix *prefix)
{
	int r = array_reserve(&contents->undecided, &contents->undecided_capacity,
			      contents->undecided_count + 1, sizeof(struct prefix *));

	if (r == 0)
		contents->undecided[contents->undecided_count++] = prefix;
	return r;
}

static bool has_rivals(const struct contents *contents, const struct prefix *prefix)
{
	return contents->window.list[prefix->contents->first - 1].rivals;
}

/* Adds the results of decided prefixes, and lists the prefixes that have to be compared. */
static int sort_prefixes(struct contents *contents)
{
	CLEANUP_BYTES struct bytes files = {0};
	struct prefix *prefix, *next;
	int r;

	contents->undecided_count = 0;
	HASH_ITER(hh, contents->prefixes.table, prefix, next)
	{
		if (prefix->undecided || has_rivals(contents, prefix))
			r = add_undecided(contents, prefix);
		else
			r = emit_decided(contents, prefix, &files);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Pieces of work [first, end), and how many of them a thread takes at a time. */
struct work {
	uint32_t first, end;
	uint32_t at_a_time;
	unsigned int threads; /* maximum */
};

/* Runs body in as many threads as the work needs. Returns 0, -ECANCELED after stop_requested(), or
 * -errno. */
static int run(struct contents *contents, void *(*body)(void *), const struct work *work)
{
	uint32_t wanted = (work->end - work->first + work->at_a_time - 1) / work->at_a_time;
	int r;

	atomic_store(&contents->next, work->first);
	contents->end = work->end;
	r = threads_run(wanted < work->threads ? wanted : work->threads, body, contents);
	if (r < 0)
		return r;
	if (contents->failure)
		return contents->failure;
	return stop_requested() ? -ECANCELED : 0;
}

static int read_prefixes(struct contents *contents)
{
	uint32_t count = (uint32_t)contents->window.count;
	int r = 0;

	atomic_store(&contents->next, 0);
	contents->order.arranged = false;
	/* The threads return early if a trial is due. */
	while (r == 0 && contents->next < count && !contents->order.arranged) {
		disk_order_decide(contents, contents->next);
		if (disk_order_is_on(&contents->order))
			r = disk_order_arrange(contents, contents->next);
		if (r == 0)
			r = run(contents, read_prefixes_run,
				&(struct work){contents->next, count, TAKEN_FILES,
					       contents->readers});
	}
	return r;
}

/* Runs in each thread: fetches the next batch unless another thread does, then compares the current
 * one. */
static void *compare_in_order(void *contents)
{
	disk_batches_fetch_next(contents);
	return compare_run(contents);
}

static int refine_undecided(struct contents *contents)
{
	struct work work = {0, (uint32_t)contents->undecided_count, 1, contents->comparers};
	uint32_t count;
	int r;

	disk_order_examine(contents);
	if (!disk_order_is_on(&contents->order))
		return run(contents, compare_run, &work);
	r = disk_batches_make(contents);
	while (r == 0 && (count = disk_batches_next(contents, &work.first, &work.threads)) > 0) {
		work.end = work.first + count;
		r = run(contents, compare_in_order, &work);
	}
	return r;
}

static int compare_undecided(struct contents *contents)
{
	int r;

	results_start_timer(&contents->results);
	r = refine_undecided(contents);
	results_stop_timer(&contents->results);
	return r;
}

/* Compares the files of one window. last: no other window follows. */
static int compare_window(struct contents *contents, bool last)
{
	int r, committed;

	contents->prefixes.window = contents->window.list;
	r = read_prefixes(contents);
	prefixes_close(&contents->prefixes);
	if (r == 0)
		r = sort_prefixes(contents);
	if (r == 0)
		r = results_commit_if_due(&contents->results);
	/* If a size is split between windows, its later files are compared with the earlier ones.
	 * These must be in the catalog by now. */
	if (r == 0 && contents->undecided_count > 0)
		r = results_wait(&contents->results);
	if (r == 0 && contents->undecided_count > 0)
		r = compare_undecided(contents);
	/* Finished results are committed even after a stop. */
	committed = results_commit(&contents->results, r == 0 && !last);
	prefixes_reset(&contents->prefixes);
	return r < 0 ? r : committed;
}

/* ---- all windows --------------------------------------------------------------------- */

static size_t window_files(const struct ingest *ingest)
{
	uint64_t files = atomic_load(&ingest->progress.candidates) / WINDOWS;
	uint64_t most = memory_at_most(WINDOW_BYTES, WINDOW_PART) / BYTES_A_FILE;

	if (files < WINDOW_FILES_MIN)
		files = WINDOW_FILES_MIN;
	return (size_t)(files < most ? files : most);
}

/* Compares the files of these sizes; NULL: all sizes. */
static int compare_all(struct contents *contents, const struct ingest_sizes *sizes,
		       bool skip_errors)
{
	struct plan plan = {.catalog = contents->ingest->catalog,
			    .window_files = window_files(contents->ingest),
			    .skip_errors = skip_errors,
			    .range = contents->ingest->range,
			    .sizes = sizes};
	int r = plan_begin(&plan);

	while (r == 0) {
		r = plan_next(&plan, &contents->window);
		if (r < 0 || contents->window.count == 0)
			break;
		r = compare_window(contents, plan_is_done(&plan));
	}
	return r;
}

/* Repeats the comparison until no file is postponed, or until patience_ms ends. */
static int compare_until_quiet(struct contents *contents)
{
	uint64_t patience_ns = contents->ingest->settings->patience_ms * MS_NS;
	uint64_t begun = clock_monotonic_ns();
	unsigned int pause_ms = PAUSE_MS_MIN;
	int r = compare_all(contents, NULL, false);

	while (r == 0 && contents->postponed > 0 && clock_monotonic_ns() - begun < patience_ns) {
		clock_sleep_ms(pause_ms);
		if (pause_ms < PAUSE_MS_MAX)
			pause_ms *= 2;
		atomic_store(&contents->postponed, 0);
		contents->repeats = true;
		r = compare_all(contents, NULL, true);
	}
	return r;
}

/* The files that wait to be compared in one state of the index. */
struct pending {
	uint64_t files, bytes;
	uint64_t errors; /* objects that could not be read */
	uint64_t generation; /* of that state */
};

static int count_pending(struct ingest *ingest, struct pending *pending)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct catalog_totals totals = {0};
	int r = catalog_read_begin(ingest->catalog, &reader);

	*pending = (struct pending){0};
	if (r == 0)
		r = catalog_count_pending(reader, &pending->files, &pending->bytes);
	if (r == 0)
		r = catalog_get_totals(reader, &totals);
	pending->errors = totals.errors;
	pending->generation = totals.generation;
	return r;
}

/* Sets the totals of the progress. */
static void set_progress(struct ingest *ingest, const struct pending *pending)
{
	/* If ranges of sizes are compared one after the other, their figures add up. */
	atomic_store(&ingest->progress.candidates,
		     atomic_load(&ingest->progress.compared) + pending->files);
	atomic_store(&ingest->progress.candidate_bytes,
		     size_add(atomic_load(&ingest->progress.compared_bytes), pending->bytes));
}

static void set_threads(struct contents *contents)
{
	unsigned int given = contents->ingest->settings->threads;

	contents->readers = given ? given : threads_that_read();
	contents->comparers = given ? given : threads_that_compute();
	if (!given && contents->comparers < COMPARERS_MIN)
		contents->comparers = COMPARERS_MIN;
}

static void contents_init(struct contents *contents, struct ingest *ingest, bool trial_due)
{
	*contents = (struct contents){.ingest = ingest,
				      .prefixes = {.budget_bytes =
							   (size_t)memory_at_most(CACHED_BYTES,
										  CACHED_PART)}};
	set_threads(contents);
	if (random_fill(&contents->seed, sizeof(contents->seed)) < 0)
		contents->seed = clock_monotonic_ns();
	contents->prefixes.seed = contents->seed;
	/* The kernel sends SIGIO to this process if a writer has to wait for one of its leases. */
	(void)signal(SIGIO, SIG_IGN);
	pthread_mutex_init(&contents->prefixes_lock, NULL);
	results_init(&contents->results, ingest->catalog, ingest->hooks);
	disk_order_init(&contents->order, ingest, trial_due);
}

static void contents_deinit(struct contents *contents)
{
	results_deinit(&contents->results);
	disk_order_deinit(&contents->order);
	window_free(&contents->window);
	prefixes_reset(&contents->prefixes);
	arena_free(&contents->prefixes.memory);
	free(contents->undecided);
	pthread_mutex_destroy(&contents->prefixes_lock);
}

/* As ingest_contents(), but does not end the scan. Sets *pending to the files that are left:
 * postponed files, files that could not be decided without these, and files that were deleted after
 * the walk. */
static int compare_unread(struct ingest *ingest, struct pending *pending)
{
	struct contents contents;
	int r = count_pending(ingest, pending);

	set_progress(ingest, pending);
	ingest->result.pending = 0;
	/* files that could not be read are tried again */
	if (r < 0 || (pending->files == 0 && pending->errors == 0))
		return r;
	contents_init(&contents, ingest, ingest->may_seek);
	contents.results.of_scan = true;
	r = compare_until_quiet(&contents);
	ingest->result.errors += contents.errors;
	ingest->result.stopped |= r == -ECANCELED;
	if (r == 0)
		r = count_pending(ingest, pending);
	if (r == 0)
		ingest->result.pending = pending->files;
	contents_deinit(&contents);
	return r == -ECANCELED ? 0 : r;
}

static int end_body(struct catalog_writer *w, void *context)
{
	const struct pending *pending = context;

	catalog_end_scan(w, pending->files == 0 && pending->generation == catalog_generation(w));
	return catalog_know_folders(w);
}

int ingest_contents(struct ingest *ingest)
{
	struct catalog_totals totals = {0};
	struct pending pending;
	int r = compare_unread(ingest, &pending);

	if (r < 0 || ingest->result.stopped || ingest->range.below)
		return r;
	r = catalog_totals_now(ingest->catalog, &totals);
	return r == 0 && totals.unended ? catalog_write(ingest->catalog, end_body, &pending) : r;
}

int ingest_compare(struct ingest *ingest, const struct ingest_sizes *sizes)
{
	struct contents contents;
	int r;

	contents_init(&contents, ingest, false);
	contents.errors_logged = true;
	r = compare_all(&contents, sizes, true);
	ingest->result.stopped |= r == -ECANCELED;
	ingest->result.pending = contents.postponed;
	contents_deinit(&contents);
	return r == -ECANCELED ? 0 : r;
}
