/* SPDX-License-Identifier: MIT */

/* The comparer thread (one for each lane):
 *
 *	waits for		passes on
 *	comparer_begin()	first comparison --> settings.compared
 *	a due file of backoff	ingest_compare --> commits; busy files --> backoff;
 *	  or failing, a retry	  unreadable files --> failing
 *	a ticket		up to BARRIER_ROUNDS comparisons without debounce
 *				  --> settings.barrier_reached
 *	the end of a pause	(ticket_worker.h after each round, RETRY_MS_MIN after a failure)
 */
#include "view/follow/comparer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/stop.h"
#include "index/query.h"
#include "index/scan.h"
#include "view/follow/backoff.h"
#include "view/follow/pending_files.h"
#include "view/follow/ticket_worker.h"

/* Pause between two attempts after a failure (usually a full disk). */
#define RETRY_MS_MIN 1000
#define RETRY_MS_MAX 4000

/* Maximum number of comparisons for one barrier. If a file changes during each of them, a program
 * probably writes to it all the time. */
#define BARRIER_ROUNDS 3

/* Interval at which sweep() frees memory. */
#define SWEEP_MS 10000

struct comparer {
	struct comparer_settings settings;
	/* fields used only by the comparer thread */
	struct ingest ingest; /* for all comparisons after the first */
	uint64_t resume_ns; /* earliest next comparison, unless a ticket waits */
	uint64_t due_ns; /* the comparison under way includes the files due at this time */
	bool retries; /* the comparison under way includes all files that could not be read */

	/* memory ran out for a changed file: the index has to be searched for it */
	atomic_bool forgot;
	atomic_bool moved; /* a file differed from its index entry since the barrier began */

	struct ticket_worker worker; /* its lock also guards all fields below */
	struct backoff backoff; /* changed files */
	struct backoff failing; /* files that could not be read, because of a temporary error */
	bool retry; /* retry all files that could not be read, for any reason */
	uint64_t sweep_ns; /* time of the next sweep */
	struct bytes rivals; /* sizes noted since the comparison under way began */
	bool any_rival; /* memory ran out for a rival, so every size counts as noted */
	bool held; /* the first comparison waits for comparer_begin() */
};

/* ---- notes from other threads -------------------------------------------------------- */

void comparer_note_changed(struct comparer *comparer, uint64_t file, bool closed)
{
	pthread_mutex_lock(&comparer->worker.lock);
	if (backoff_changed(&comparer->backoff, file, closed, clock_monotonic_ns()) < 0)
		atomic_store(&comparer->forgot, true);
	ticket_worker_wake(&comparer->worker);
	pthread_mutex_unlock(&comparer->worker.lock);
}

void comparer_note_rival(struct comparer *comparer, uint64_t size)
{
	pthread_mutex_lock(&comparer->worker.lock);
	if (bytes_append(&comparer->rivals, &size, sizeof(size)) < 0)
		comparer->any_rival = true;
	pthread_mutex_unlock(&comparer->worker.lock);
}

bool comparer_has_new_rival(struct comparer *comparer, uint64_t size)
{
	const uint64_t *sizes;
	bool has_new_rival;

	pthread_mutex_lock(&comparer->worker.lock);
	has_new_rival = comparer->any_rival;
	sizes = (const void *)comparer->rivals.data;
	for (size_t i = 0; i < comparer->rivals.length / sizeof(size) && !has_new_rival; i++)
		has_new_rival = sizes[i] == size;
	pthread_mutex_unlock(&comparer->worker.lock);
	return has_new_rival;
}

void comparer_note_moved(struct comparer *comparer)
{
	atomic_store(&comparer->moved, true);
}

void comparer_retry(struct comparer *comparer)
{
	pthread_mutex_lock(&comparer->worker.lock);
	comparer->retry = true;
	ticket_worker_wake(&comparer->worker);
	pthread_mutex_unlock(&comparer->worker.lock);
}

void comparer_barrier(struct comparer *comparer, uint64_t ticket)
{
	ticket_worker_request(&comparer->worker, ticket);
}

/* ---- sizes to compare ---------------------------------------------------------------- */

/* Files to be compared now, and their sizes. */
struct due {
	struct due_files files;
	uint64_t *sizes; /* ascending, each once */
	size_t size_count;
};

static void due_free(struct due *due)
{
	free(due->files.list);
	free(due->sizes);
}

static int find_sizes(struct catalog *catalog, struct ingest_range range, struct due *due)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct file_record file;
	int r = catalog_read_begin(catalog, &reader);

	due->sizes = calloc(due->files.count ? due->files.count : 1, sizeof(*due->sizes));
	if (!due->sizes)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < due->files.count; i++) {
		r = catalog_get_file(reader, due->files.list[i], &file);
		if (r == 0 && file.names > 0 && S_ISREG(file.attributes.mode) &&
		    ingest_range_has(range, file.attributes.size))
			due->sizes[due->size_count++] = file.attributes.size;
		if (r == -ENOENT)
			r = 0;
	}
	due->size_count = numbers_sort_once(due->sizes, due->size_count);
	return r;
}

/* ---- results of a comparison --------------------------------------------------------- */

/* Makes failed files wait for a retry, and ends the wait of retried files that did not fail again.
 * The caller holds the lock. Returns 0 or -ENOMEM. */
static int finish_failed(struct comparer *comparer, const struct due *due,
			 const struct bytes *failed)
{
	const uint64_t *list = (const void *)failed->data;
	uint64_t now = clock_monotonic_ns();
	int r = 0;

	for (size_t i = 0; r == 0 && i < failed->length / sizeof(*list); i++) {
		if (!backoff_waits(&comparer->failing, list[i], comparer->due_ns))
			r = backoff_failed(&comparer->failing, list[i], now);
	}
	for (size_t i = 0; r == 0 && i < due->files.count; i++) {
		if (backoff_is_due(&comparer->failing, due->files.list[i], comparer->due_ns))
			backoff_done(&comparer->failing, due->files.list[i], now);
	}
	if (r < 0 || !comparer->retries)
		return r;
	/* files that BACKOFF_ALL represents are possibly still unread */
	if (comparer->ingest.result.pending > 0)
		return backoff_failed(&comparer->failing, BACKOFF_ALL, now);
	if (backoff_is_due(&comparer->failing, BACKOFF_ALL, comparer->due_ns))
		backoff_done(&comparer->failing, BACKOFF_ALL, now);
	return 0;
}

/* Makes pending files wait again, and ends the wait of the other due files. If a file changed
 * during the comparison, it waits already, and its due time stays. The caller holds the lock.
 * Returns 0 or -ENOMEM. */
static int finish_compared(struct comparer *comparer, const struct due *due,
			   const struct bytes *pending)
{
	const uint64_t *list = (const void *)pending->data;
	size_t count = pending->length / sizeof(*list);
	uint64_t now = clock_monotonic_ns();
	int r = 0;

	for (size_t i = 0; i < due->files.count; i++) {
		if (!backoff_waits(&comparer->backoff, due->files.list[i], now) &&
		    !(count > 0 &&
		      bsearch(&due->files.list[i], list, count, sizeof(*list), numbers_by_value)))
			backoff_done(&comparer->backoff, due->files.list[i], now);
	}
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (!backoff_waits(&comparer->backoff, list[i], now))
			r = backoff_busy(&comparer->backoff, list[i], now);
	}
	return r;
}

/* ---- comparing ----------------------------------------------------------------------- */

static bool waits(void *context, uint64_t file)
{
	struct comparer *comparer = context;
	bool waits;

	pthread_mutex_lock(&comparer->worker.lock);
	waits = backoff_waits(&comparer->backoff, file, clock_monotonic_ns());
	pthread_mutex_unlock(&comparer->worker.lock);
	return waits;
}

static bool tried_again(void *context, uint64_t file)
{
	struct comparer *comparer = context;
	bool again;

	if (comparer->retries)
		return true;
	pthread_mutex_lock(&comparer->worker.lock);
	again = backoff_is_due(&comparer->failing, file, comparer->due_ns);
	pthread_mutex_unlock(&comparer->worker.lock);
	return again;
}

/* Drops the noted rivals, as a comparison that begins now includes them. */
static void begin_comparison(struct comparer *comparer)
{
	pthread_mutex_lock(&comparer->worker.lock);
	comparer->rivals.length = 0;
	comparer->any_rival = false;
	pthread_mutex_unlock(&comparer->worker.lock);
}

/* Notes every unread file of the range that shares its size with another file. Returns 0 or
 * -errno. */
static int note_all_unread(struct comparer *comparer)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct size_entry from = {0}, last = {0}, entry;
	struct ingest_range range = comparer->settings.range;
	int r = catalog_read_begin(comparer->settings.indexing->catalog, &reader);

	if (r == 0)
		r = catalog_get_min_size(reader, &from.size);
	if (from.size < range.from)
		from.size = range.from;
	if (r == 0)
		r = catalog_scan_sizes(reader, &from, &scan);
	while (r == 0 && (r = catalog_next_size(scan, &entry)) == 0 &&
	       ingest_range_has(range, entry.size)) {
		if (entry.size == last.size && last.file && last.prefix == 0)
			comparer_note_changed(comparer, last.file, false);
		if (entry.size == last.size && entry.prefix == 0)
			comparer_note_changed(comparer, entry.file, false);
		last = entry;
	}
	return r == -ENOENT ? 0 : r;
}

static int note_forgotten(struct comparer *comparer)
{
	int r = atomic_exchange(&comparer->forgot, false) ? note_all_unread(comparer) : 0;

	if (r < 0)
		atomic_store(&comparer->forgot, true);
	return r;
}

/* Finds the due files. all: includes changed files whose debounce time has not ended. */
static int find_due(struct comparer *comparer, bool all, struct due *due)
{
	uint64_t now = clock_monotonic_ns();
	int r;

	comparer->due_ns = now;
	pthread_mutex_lock(&comparer->worker.lock);
	comparer->retries = comparer->retry || backoff_is_due(&comparer->failing, BACKOFF_ALL, now);
	comparer->retry = false;
	r = backoff_due(&comparer->backoff, now, all, &due->files);
	if (r == 0)
		r = backoff_due(&comparer->failing, now, false, &due->files);
	pthread_mutex_unlock(&comparer->worker.lock);
	if (r == 0 && comparer->retries)
		r = pending_files_find_failed(comparer->ingest.catalog, &due->files);
	if (r < 0 && comparer->retries)
		comparer_retry(comparer);
	return r;
}

/* Compares the due files; all: as in find_due(). Sets *nothing to whether no file was due. Returns
 * 0 or -errno. */
static int compare_due(struct comparer *comparer, bool all, bool *nothing)
{
	struct ingest *ingest = &comparer->ingest;
	CLEANUP(due_free) struct due due = {0};
	CLEANUP(pending_files_free) struct pending_files pending = {0};
	struct ingest_sizes sizes = {.waits = all ? NULL : waits,
				     .again = tried_again,
				     .context = comparer};
	int r = note_forgotten(comparer);

	if (r == 0)
		r = find_due(comparer, all, &due);
	*nothing = r == 0 && due.files.count == 0;
	if (r < 0 || due.files.count == 0)
		return r;
	begin_comparison(comparer);
	ingest->patient = all;
	r = find_sizes(ingest->catalog, comparer->settings.range, &due);
	sizes.list = due.sizes;
	sizes.count = due.size_count;
	if (r == 0)
		r = ingest_compare(ingest, &sizes);
	if (r == 0)
		r = pending_files_find(&pending, ingest->catalog, due.sizes, due.size_count);
	if (r == 0)
		r = pending_files_forgive(&pending, ingest->catalog);
	if (r < 0)
		return r;
	pthread_mutex_lock(&comparer->worker.lock);
	r = finish_compared(comparer, &due, &pending.waiting);
	if (r == 0)
		r = finish_failed(comparer, &due, &pending.failed);
	pthread_mutex_unlock(&comparer->worker.lock);
	return r;
}

/* Compares all waiting files for a ticket. Sets *moved to whether a file differed from its index
 * entry. */
static int compare_for_barrier(struct comparer *comparer, bool *moved)
{
	bool nothing = false;
	int r = 0;

	atomic_store(&comparer->moved, false);
	for (int round = 0; r == 0 && !nothing && round < BARRIER_ROUNDS; round++)
		r = compare_due(comparer, true, &nothing);
	*moved = atomic_load(&comparer->moved);
	return r;
}

/* ---- the thread ---------------------------------------------------------------------- */

static void wait_to_begin(struct comparer *comparer)
{
	pthread_mutex_lock(&comparer->worker.lock);
	while (comparer->held && !comparer->worker.ending)
		pthread_cond_wait(&comparer->worker.changed, &comparer->worker.lock);
	pthread_mutex_unlock(&comparer->worker.lock);
}

/* Runs the first comparison until it succeeds or fails with -EUCLEAN. Returns 0, -ECANCELED if the
 * thread has to end, or another -errno. */
static int compare_first(struct comparer *comparer)
{
	const struct comparer_settings *settings = &comparer->settings;
	unsigned int pause_ms = RETRY_MS_MIN;
	bool again = false;
	int r;

	wait_to_begin(comparer);
	if (stop_requested())
		return -ECANCELED;
	settings->indexing->ingest.range = settings->range;
	comparer->ingest = (struct ingest){.catalog = settings->indexing->catalog,
					   .sources = &settings->indexing->sources,
					   .settings = &settings->indexing->ingest_settings,
					   .hooks = settings->indexing->hooks};
	do {
		settings->busy(settings->context, true, 0);
		begin_comparison(comparer);
		r = indexing_contents(settings->indexing,
				      again ? PROGRESS_NEVER : settings->progress);
		/* the result of a stopped comparison is not reported */
		if (stop_requested())
			return -ECANCELED;
		settings->busy(settings->context, r < 0, -r);
		settings->compared(settings->context, r);
		again = true;
		if (r < 0 && !ticket_worker_pause(&comparer->worker, pause_ms))
			return -ECANCELED;
		if (pause_ms < RETRY_MS_MAX)
			pause_ms *= 2;
	} while (r < 0 && r != -EUCLEAN);
	return r == 0 ? note_all_unread(comparer) : r;
}

/* Returns the time of the next comparison without a ticket. The caller holds the lock. */
static uint64_t next_comparison_ns(const struct comparer *comparer)
{
	uint64_t due_ns = backoff_next_ns(&comparer->backoff);
	uint64_t failed_ns = backoff_next_ns(&comparer->failing);

	if (comparer->forgot || comparer->retry)
		return comparer->resume_ns;
	if (failed_ns < due_ns)
		due_ns = failed_ns;
	return due_ns > comparer->resume_ns ? due_ns : comparer->resume_ns;
}

/* Frees the entries of quiet files and the noted rivals, and returns free memory to the kernel. The
 * caller holds the lock. */
static void sweep(struct comparer *comparer, uint64_t now_ns)
{
	if (now_ns < comparer->sweep_ns)
		return;
	backoff_sweep(&comparer->backoff, now_ns);
	backoff_sweep(&comparer->failing, now_ns);
	bytes_free(&comparer->rivals);
	memory_trim();
	comparer->sweep_ns = now_ns + SWEEP_MS * MS_NS;
}

static bool is_due(void *context, uint64_t now_ns, uint64_t *until_ns)
{
	struct comparer *comparer = context;
	uint64_t next_ns = next_comparison_ns(comparer);

	sweep(comparer, now_ns);
	*until_ns = next_ns < comparer->sweep_ns ? next_ns : comparer->sweep_ns;
	return next_ns <= now_ns;
}

static void answer(struct comparer *comparer, uint64_t ticket, int error, bool moved)
{
	const struct comparer_settings *settings = &comparer->settings;

	ticket_worker_finish(&comparer->worker, ticket);
	settings->barrier_reached(settings->context, ticket, error, moved);
}

/* Does one round of work. broken: the index is corrupt. It is rebuilt at the next start; until then
 * no file is compared, and each ticket is answered with EUCLEAN. */
static int work(struct comparer *comparer, uint64_t ticket, bool *moved, bool broken)
{
	bool nothing;

	if (broken)
		return -EUCLEAN;
	return ticket ? compare_for_barrier(comparer, moved)
		      : compare_due(comparer, false, &nothing);
}

static void *compare(void *context)
{
	struct comparer *comparer = context;
	const struct comparer_settings *settings = &comparer->settings;
	int r = compare_first(comparer);
	bool moved = false, goes_on = r != -ECANCELED;
	uint64_t ticket, began_ns;

	while (goes_on && ticket_worker_wait(&comparer->worker, is_due, comparer, &ticket)) {
		settings->busy(settings->context, true, -r);
		began_ns = clock_monotonic_ns();
		r = work(comparer, ticket, &moved, r == -EUCLEAN);
		comparer->resume_ns = duty_cycle_resume_ns(began_ns);
		settings->busy(settings->context, r < 0, -r);
		if (ticket && !stop_requested())
			answer(comparer, ticket, -r, moved);
		catalog_judge(settings->indexing->catalog, r);
		goes_on = r == 0 || ticket_worker_pause(&comparer->worker, RETRY_MS_MIN);
	}
	return NULL;
}

/* ---- life ---------------------------------------------------------------------------- */

int comparer_new(struct comparer **comparer, const struct comparer_settings *settings)
{
	struct comparer *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->settings = *settings;
	made->held = settings->held;
	ticket_worker_init(&made->worker);
	*comparer = made;
	return 0;
}

int comparer_start(struct comparer *comparer)
{
	return ticket_worker_start(&comparer->worker, compare, comparer);
}

void comparer_begin(struct comparer *comparer)
{
	pthread_mutex_lock(&comparer->worker.lock);
	comparer->held = false;
	ticket_worker_wake(&comparer->worker);
	pthread_mutex_unlock(&comparer->worker.lock);
}

void comparer_stop(struct comparer *comparer)
{
	if (comparer)
		ticket_worker_stop(&comparer->worker);
}

void comparer_free(struct comparer *comparer)
{
	if (!comparer)
		return;
	backoff_free(&comparer->backoff);
	backoff_free(&comparer->failing);
	bytes_free(&comparer->rivals);
	ticket_worker_deinit(&comparer->worker);
	free(comparer);
}
