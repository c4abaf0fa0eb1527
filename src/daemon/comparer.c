/* SPDX-License-Identifier: MIT */
#include "daemon/comparer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "daemon/backoff.h"
#include "daemon/duty_cycle.h"
#include "daemon/pending_files.h"
#include "daemon/ticket_worker.h"

/* Between two tries to go on after a failure (a full disk, mostly). */
#define RETRY_MS_MIN 1000
#define RETRY_MS_MAX 4000

/* Whoever waits gets so many rounds: what moves under the first is at rest in the next, or is
 * being written. */
#define BARRIER_ROUNDS 3

/* So often restless files, files that came back to no comparison, and the memory of the last burst
 * are let go. */
#define SWEEP_MS 10000

struct comparer {
	struct comparer_settings settings;
	struct ingest ingest; /* of its comparisons but the first; its thread only */
	uint64_t rested_ns; /* no comparison before that, unless somebody waits; its thread only */
	uint64_t due_ns; /* what was due then is in the comparison under way; the same */
	bool retries; /* and so is whatever failed */
	struct ticket_worker worker; /* its lock is that of all below, too */
	struct backoff backoff;
	struct backoff failing; /* files that could not be read, and may be by now */
	bool retry; /* all of them are to be tried, and those that may not */
	uint64_t sweep_ns; /* when */
	struct bytes rivals; /* sizes, since the comparison under way began */
	bool any_rival; /* there was no memory for one of them */
	bool forgot; /* nor for a file that changed: it is to be found in the index */
	bool moved;
	bool held;
};

/* ---- what others tell ---------------------------------------------------------------- */

void comparer_changed(struct comparer *comparer, uint64_t file, bool closed)
{
	pthread_mutex_lock(&comparer->worker.lock);
	if (backoff_changed(&comparer->backoff, file, closed, clock_monotonic_ns()) < 0)
		comparer->forgot = true;
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
	pthread_mutex_lock(&comparer->worker.lock);
	comparer->moved = true;
	pthread_mutex_unlock(&comparer->worker.lock);
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

/* ---- which sizes --------------------------------------------------------------------- */

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

/* ---- what became of them ------------------------------------------------------------- */

/* Those that failed wait to be tried again, or wait already; what was tried and did not is done.
 * Holds the lock. */
static int settle_failed(struct comparer *comparer, const struct due *due,
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
	/* of those that are not tried again by themselves some may not have been read */
	if (comparer->ingest.result.pending > 0)
		return backoff_failed(&comparer->failing, BACKOFF_ALL, now);
	if (backoff_is_due(&comparer->failing, BACKOFF_ALL, comparer->due_ns))
		backoff_done(&comparer->failing, BACKOFF_ALL, now);
	return 0;
}

/* Those that are still unread wait again, those that changed meanwhile wait already, the others
 * are done. Holds the lock. */
static int settle(struct comparer *comparer, const struct due *due, const struct bytes *pending)
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

/* What is compared from here on is compared with what is in the index from here on. */
static void begin_comparison(struct comparer *comparer)
{
	pthread_mutex_lock(&comparer->worker.lock);
	comparer->rivals.length = 0;
	comparer->any_rival = false;
	pthread_mutex_unlock(&comparer->worker.lock);
}

/* Every file of its range that waits: those whose size is shared. */
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
			comparer_changed(comparer, last.file, false);
		if (entry.size == last.size && entry.prefix == 0)
			comparer_changed(comparer, entry.file, false);
		last = entry;
	}
	return r == -ENOENT ? 0 : r;
}

static bool exchange_forgot(struct comparer *comparer, bool forgot)
{
	bool before;

	pthread_mutex_lock(&comparer->worker.lock);
	before = comparer->forgot;
	comparer->forgot = forgot;
	pthread_mutex_unlock(&comparer->worker.lock);
	return before;
}

static int note_forgotten(struct comparer *comparer)
{
	int r = exchange_forgot(comparer, false) ? note_all_unread(comparer) : 0;

	if (r < 0)
		(void)exchange_forgot(comparer, true);
	return r;
}

/* Adds every file that could not be read. */
static int add_failed(struct comparer *comparer, struct due *due)
{
	CLEANUP_BYTES struct bytes failed = {0};
	int r = pending_files_find_failed(comparer->settings.indexing->catalog, &failed);
	size_t count = failed.length / sizeof(*due->files.list);

	if (r == 0 && count > 0)
		r = array_reserve(&due->files.list, &due->files.capacity, due->files.count + count,
				  sizeof(*due->files.list));
	if (r < 0 || count == 0)
		return r;
	memcpy(due->files.list + due->files.count, failed.data, failed.length);
	due->files.count += count;
	return 0;
}

/* Finds what is due: with all everything that waits, but for what failed. */
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
		r = add_failed(comparer, due);
	if (r < 0 && comparer->retries)
		comparer_retry(comparer);
	return r;
}

/* Takes what is due and compares it. 0 or -errno. */
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
	r = settle(comparer, &due, &pending.waiting);
	if (r == 0)
		r = settle_failed(comparer, &due, &pending.failed);
	pthread_mutex_unlock(&comparer->worker.lock);
	return r;
}

/* All for those who wait; *moved: it was not all at rest. */
static int compare_for_barrier(struct comparer *comparer, bool *moved)
{
	bool nothing = false;
	int r = 0;

	pthread_mutex_lock(&comparer->worker.lock);
	comparer->moved = false;
	pthread_mutex_unlock(&comparer->worker.lock);
	for (int round = 0; r == 0 && !nothing && round < BARRIER_ROUNDS; round++)
		r = compare_due(comparer, true, &nothing);
	pthread_mutex_lock(&comparer->worker.lock);
	*moved = comparer->moved;
	pthread_mutex_unlock(&comparer->worker.lock);
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

/* Until it succeeds. 0, -EUCLEAN, or -ECANCELED at the end. */
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
		/* who waits for one that is stopped waits for its end */
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

/* When to go on; holds the lock. */
static uint64_t next_comparison_ns(const struct comparer *comparer)
{
	uint64_t due_ns = backoff_next_ns(&comparer->backoff);
	uint64_t failed_ns = backoff_next_ns(&comparer->failing);

	if (comparer->forgot || comparer->retry)
		return comparer->rested_ns;
	if (failed_ns < due_ns)
		due_ns = failed_ns;
	return due_ns > comparer->rested_ns ? due_ns : comparer->rested_ns;
}

/* Lets go of what has rested long; holds the lock. */
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

/* One round of work. An index that contradicts itself is made anew at the next start: until then
 * nothing more is compared, and who waits is told so. */
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
		comparer->rested_ns = duty_cycle_resume_ns(began_ns);
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
