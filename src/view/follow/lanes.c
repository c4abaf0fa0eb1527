/* SPDX-License-Identifier: MIT */

/* Each lane has a comparer thread, and the mapper has one:
 *
 *	waits for		passes on
 *	begin()			first comparison --> note_compared()
 *	a due file of backoff	ingest_compare of a part of them --> commits; busy files
 *	  or failing, a retry	  --> backoff; unreadable files --> failing
 *	a ticket		up to BARRIER_ROUNDS comparisons without debounce
 *				  --> pass_ticket()
 *	the end of a pause	(ticket_worker.h after each round, RETRY_MS_MIN after a failure)
 *
 *	small: first comparison ended --begin-----------> large: first comparison
 *	small: barrier reached ----------ticket---------> large
 *	large: first comparison ended ---request_run----> mapper --> settings.compared
 *	large: barrier reached ------------ticket-------> mapper --> settings.barrier_reached
 *	small, large: busy --lock--> settings.busy (any lane is busy)
 *
 * The mapper thread maps the extents of groups whose members changed (scan/mapping.h), so that
 * the view shows how many bytes their redundant copies would free:
 *
 *	waits for		passes on
 *	a commit, lanes_remap()	mapping_run() --> commits
 *	a ticket		up to BARRIER_ROUNDS runs --> settings.barrier_reached
 *	again_ns		another run, for bytes that were not on the disk
 *	request_run()	a run --> settings.compared
 *	the end of a pause	(ticket_worker.h after each run, RETRY_MS_MIN after a failure)
 */
#include "view/follow/lanes.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/stop.h"
#include "index/commit_delta.h"
#include "index/query.h"
#include "index/scan.h"
#include "scan/mapping.h"
#include "view/follow/backoff.h"
#include "view/follow/due.h"
#include "view/follow/pending_files.h"
#include "view/follow/ticket_worker.h"

/* Smallest size of a large file. At 100 MB/s a disk reads two files below this size in about
 * 160 ms. */
#define LARGE_BYTES (UINT64_C(8) << 20)

/* Pause between two attempts after a failure (usually a full disk). */
#define RETRY_MS_MIN 1000
#define RETRY_MS_MAX 4000

/* Maximum number of comparisons, and of runs of the mapper, for one barrier. If a file changes
 * during each of them, a program probably writes to it all the time. */
#define BARRIER_ROUNDS 3

/* Number of files in a part of a round, at least, and the time that a part of several sizes should
 * take at most. A file of a rare size waits for the end of a part. */
#define PART_FILES_MIN 64
#define PART_MS_MAX 80

/* Time after which the lane pauses between two parts, but not for files of rare sizes. */
#define PARTS_MS 1000

/* Interval at which sweep() frees memory. */
#define SWEEP_MS 10000

enum {
	LANE_SMALL,
	LANE_LARGE,
	LANES,
};

struct lane {
	struct lanes *lanes;
	struct ingest_range range; /* sizes of the files that this lane compares */
	/* guarded by lanes->lock */
	bool busy; /* also until the first comparison has ended */
	int problem; /* positive errno, or 0 */
	/* fields used only by the comparer thread */
	struct ingest ingest; /* for all comparisons after the first */
	/* earliest next comparisons of rare sizes, and of others, unless a ticket waits */
	uint64_t rare_ns, resume_ns;
	struct due due; /* files of the round that are not compared yet */
	size_t part_files; /* of the next part */
	struct duty_cycle parts; /* since the last pause between parts; catalog is NULL: none yet */
	bool retries; /* the round includes all files that could not be read */

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
	bool held; /* the first comparison waits for begin() */
};

struct mapper {
	/* used only by the mapper thread */
	uint64_t due; /* as set by mapping_run() */
	bool maps_all; /* the first run maps also the groups whose time is later */
	struct ticket_worker worker; /* its lock also guards all fields below */
	bool noted; /* a group was noted since the last run began */
	bool remap; /* all groups have to be mapped again */
	bool reports; /* settings.compared has to be called after a run */
	uint64_t resume_ns; /* earliest next run, unless a ticket waits */
	uint64_t again_ns; /* time of a run without a note; UINT64_MAX: none */
};

struct lanes {
	struct lanes_settings settings;
	struct mapper mapper;
	struct lane list[LANES];
	pthread_mutex_t lock; /* guards all fields below, and is held in settings.busy */
	bool compared; /* settings.compared was called */
	/* what the lanes reported for tickets that the mapper has not answered yet */
	int error; /* positive errno, or 0 */
	bool moved;
};

static bool is_large(const struct lane *lane)
{
	return lane == &lane->lanes->list[LANE_LARGE];
}

/* ---- notes -------------------------------------------------------------------------- */

/* Notes a file whose content is unknown, so that it is compared.
 *
 * closed	no program is known to have the file open for writing
 */
static void note_changed(struct lane *lane, uint64_t file, bool closed)
{
	pthread_mutex_lock(&lane->worker.lock);
	if (backoff_changed(&lane->backoff, file, closed, clock_monotonic_ns()) < 0)
		atomic_store(&lane->forgot, true);
	ticket_worker_wake(&lane->worker);
	pthread_mutex_unlock(&lane->worker.lock);
}

static void note_rival(struct lane *lane, uint64_t size)
{
	pthread_mutex_lock(&lane->worker.lock);
	if (bytes_append(&lane->rivals, &size, sizeof(size)) < 0)
		lane->any_rival = true;
	pthread_mutex_unlock(&lane->worker.lock);
}

static void retry_failed(struct lane *lane)
{
	pthread_mutex_lock(&lane->worker.lock);
	lane->retry = true;
	ticket_worker_wake(&lane->worker);
	pthread_mutex_unlock(&lane->worker.lock);
}

/* Notes that groups have to be mapped. remap: any file possibly shares other extents than before.
 * reports: settings.compared is called at the end of the run. Any thread. */
static void request_run(struct mapper *mapper, bool remap, bool reports)
{
	pthread_mutex_lock(&mapper->worker.lock);
	mapper->noted = true;
	mapper->remap |= remap;
	mapper->reports |= reports;
	ticket_worker_wake(&mapper->worker);
	pthread_mutex_unlock(&mapper->worker.lock);
}

/* ---- reports of the lanes and the mapper -------------------------------------------- */

/* Reports to settings.busy whether any lane is busy. */
static void report_busy(struct lane *lane, bool busy, int problem)
{
	struct lanes *lanes = lane->lanes;
	bool any = false;

	pthread_mutex_lock(&lanes->lock);
	lane->busy = busy;
	lane->problem = problem;
	problem = 0;
	for (size_t i = 0; i < LANES; i++) {
		any |= lanes->list[i].busy;
		if (problem == 0)
			problem = lanes->list[i].problem;
	}
	lanes->settings.busy(lanes->settings.context, any, problem);
	pthread_mutex_unlock(&lanes->lock);
}

static void report_compared(struct lanes *lanes, int result)
{
	bool report;

	pthread_mutex_lock(&lanes->lock);
	report = lanes->compared;
	lanes->compared = true;
	pthread_mutex_unlock(&lanes->lock);
	if (!report)
		lanes->settings.compared(lanes->settings.context, result);
}

/* Starts the first comparison of a lane that is held. */
static void begin(struct lane *lane)
{
	pthread_mutex_lock(&lane->worker.lock);
	lane->held = false;
	ticket_worker_wake(&lane->worker);
	pthread_mutex_unlock(&lane->worker.lock);
}

/* Notes the end of an attempt of a first comparison. The large lane starts after the small one,
 * unless that retries: both first comparisons use indexing->ingest. */
static void note_compared(struct lane *lane, int result)
{
	struct lanes *lanes = lane->lanes;

	if (result < 0)
		report_compared(lanes, result);
	if (is_large(lane) && result == 0)
		request_run(&lanes->mapper, false, true);
	else if (!is_large(lane) && (result == 0 || result == -EUCLEAN))
		begin(&lanes->list[LANE_LARGE]);
}

/* Passes a ticket from a lane to the next one, or from the last one to the mapper. */
static void pass_ticket(struct lane *lane, uint64_t ticket, int error, bool moved)
{
	struct lanes *lanes = lane->lanes;

	ticket_worker_finish(&lane->worker, ticket);
	pthread_mutex_lock(&lanes->lock);
	lanes->moved |= moved;
	if (lanes->error == 0)
		lanes->error = error;
	pthread_mutex_unlock(&lanes->lock);
	ticket_worker_request(is_large(lane) ? &lanes->mapper.worker
					     : &lanes->list[LANE_LARGE].worker,
			      ticket);
}

/* Answers a ticket: the groups noted before it are mapped, except those whose files are not on the
 * disk yet. Runs in the mapper thread. error: 0, or a positive errno. */
static void answer(struct lanes *lanes, uint64_t ticket, int error)
{
	bool moved;

	ticket_worker_finish(&lanes->mapper.worker, ticket);
	pthread_mutex_lock(&lanes->lock);
	moved = lanes->moved;
	if (lanes->error != 0)
		error = lanes->error;
	lanes->moved = false;
	lanes->error = 0;
	pthread_mutex_unlock(&lanes->lock);
	lanes->settings.barrier_reached(lanes->settings.context, ticket, error, moved);
}

/* ---- results of a comparison -------------------------------------------------------- */

/* Makes failed files wait for a retry, and ends the wait of retried files that did not fail again.
 * The caller holds the lock. Returns 0 or -ENOMEM. */
static int finish_failed(struct lane *lane, const struct due_part *part, const struct bytes *failed)
{
	uint64_t now = clock_monotonic_ns();
	int r = due_finish(part, &lane->failing, failed, backoff_failed, now);

	if (r < 0 || !lane->retries)
		return r;
	/* files that BACKOFF_ALL represents are possibly still unread */
	if (lane->ingest.result.pending > 0)
		return backoff_failed(&lane->failing, BACKOFF_ALL, now);
	if (backoff_is_taken(&lane->failing, BACKOFF_ALL))
		backoff_done(&lane->failing, BACKOFF_ALL, now);
	return 0;
}

/* ---- comparing ---------------------------------------------------------------------- */

static bool waits(void *context, uint64_t file)
{
	struct lane *lane = context;
	bool waits;

	pthread_mutex_lock(&lane->worker.lock);
	waits = backoff_waits(&lane->backoff, file, clock_monotonic_ns());
	pthread_mutex_unlock(&lane->worker.lock);
	return waits;
}

static bool tried_again(void *context, uint64_t file)
{
	struct lane *lane = context;
	bool again;

	if (lane->retries)
		return true;
	pthread_mutex_lock(&lane->worker.lock);
	again = backoff_is_taken(&lane->failing, file);
	pthread_mutex_unlock(&lane->worker.lock);
	return again;
}

/* Drops the noted rivals, as a comparison that begins now includes them. */
static void begin_comparison(struct lane *lane)
{
	pthread_mutex_lock(&lane->worker.lock);
	lane->rivals.length = 0;
	lane->any_rival = false;
	pthread_mutex_unlock(&lane->worker.lock);
}

/* Notes every unread file of the range that shares its size with another file. Returns 0 or
 * -errno. */
static int note_all_unread(struct lane *lane)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct size_entry from = {0}, last = {0}, entry;
	struct ingest_range range = lane->range;
	int r = catalog_read_begin(lane->lanes->settings.indexing->catalog, &reader);

	if (r == 0)
		r = catalog_get_min_size(reader, &from.size);
	if (from.size < range.from)
		from.size = range.from;
	if (r == 0)
		r = catalog_scan_sizes(reader, &from, &scan);
	while (r == 0 && (r = catalog_next_size(scan, &entry)) == 0 &&
	       ingest_range_has(range, entry.size)) {
		if (entry.size == last.size && last.file && last.prefix == 0)
			note_changed(lane, last.file, false);
		if (entry.size == last.size && entry.prefix == 0)
			note_changed(lane, entry.file, false);
		last = entry;
	}
	return r == -ENOENT ? 0 : r;
}

static int note_forgotten(struct lane *lane)
{
	int r = atomic_exchange(&lane->forgot, false) ? note_all_unread(lane) : 0;

	if (r < 0)
		atomic_store(&lane->forgot, true);
	return r;
}

/* Adds the due files to the round. all: also changed files whose debounce time has not ended. */
static int take_due(struct lane *lane, bool all)
{
	struct due_files files = {0};
	uint64_t now = clock_monotonic_ns();
	int r;

	pthread_mutex_lock(&lane->worker.lock);
	r = backoff_take(&lane->backoff, now, all, &files);
	if (r == 0)
		r = backoff_take(&lane->failing, now, false, &files);
	lane->retries |= lane->retry || backoff_is_taken(&lane->failing, BACKOFF_ALL);
	lane->retry = false;
	pthread_mutex_unlock(&lane->worker.lock);
	if (r == 0 && lane->retries)
		r = pending_files_find_failed(lane->ingest.catalog, &files);
	if (r == 0)
		r = due_add(&lane->due, lane->ingest.catalog, lane->range, &files);
	free(files.list);
	if (r < 0) {
		atomic_store(&lane->forgot, true);
		retry_failed(lane);
	}
	return r;
}

/* Chooses the next part of the round. Rare sizes and others take turns, so that none waits for
 * ever. */
static int choose_part(struct lane *lane, bool all, enum due_choice *choice, struct due_part *part)
{
	uint64_t now = clock_monotonic_ns();
	int r;

	*choice = all || lane->retries ? DUE_ALL : DUE_RARE;
	if (*choice == DUE_ALL || now >= lane->rare_ns) {
		r = due_choose(&lane->due, *choice, lane->part_files, part);
		if (r < 0 || part->files.count > 0)
			return r;
	}
	due_part_free(part);
	*choice = DUE_SOME;
	return now < lane->resume_ns ? 0 : due_choose(&lane->due, DUE_SOME, lane->part_files, part);
}

static int compare_part(struct lane *lane, bool all, struct due_part *part)
{
	struct ingest *ingest = &lane->ingest;
	CLEANUP(pending_files_free) struct pending_files pending = {0};
	const struct ingest_sizes sizes = {.list = part->sizes,
					   .count = part->size_count,
					   .waits = all ? NULL : waits,
					   .again = tried_again,
					   .context = lane};
	int r;

	begin_comparison(lane);
	ingest->patient = all;
	r = ingest_compare(ingest, &sizes);
	if (r == 0)
		r = pending_files_find(&pending, ingest->catalog, part->sizes, part->size_count);
	if (r == 0)
		r = pending_files_forgive(&pending, ingest->catalog);
	if (r < 0)
		return r;
	pthread_mutex_lock(&lane->worker.lock);
	r = due_finish(part, &lane->backoff, &pending.waiting, backoff_busy, clock_monotonic_ns());
	if (r == 0)
		r = finish_failed(lane, part, &pending.failed);
	pthread_mutex_unlock(&lane->worker.lock);
	return r;
}

/* Adapts the number of files of a part to the time that the last one took. Where commits are slow,
 * parts are longer, so that commits take at most a fifth of them. */
static void adapt_parts(struct lane *lane, const struct due_part *part,
			const struct duty_cycle *cycle)
{
	uint64_t took_ns = clock_monotonic_ns() - cycle->began_ns;
	uint64_t commits_ns = catalog_commits_ns(cycle->catalog) - cycle->commits_ns;
	uint64_t most_ns = 5 * commits_ns;

	if (most_ns < PART_MS_MAX * MS_NS)
		most_ns = PART_MS_MAX * MS_NS;
	if (took_ns > most_ns && part->size_count > 1 && lane->part_files > PART_FILES_MIN)
		lane->part_files /= 2;
	else if (took_ns < most_ns / 4 && part->files.count >= lane->part_files)
		lane->part_files *= 2;
}

/* Sets when the next parts may begin. */
static void schedule(struct lane *lane, enum due_choice choice, const struct duty_cycle *part)
{
	uint64_t now = clock_monotonic_ns();

	if (choice == DUE_ALL || (choice == DUE_SOME && !lane->parts.catalog))
		lane->parts = *part;
	lane->rare_ns = choice == DUE_SOME ? now : duty_cycle_resume_ns(part);
	if (choice == DUE_RARE)
		return;
	lane->resume_ns = now;
	if (choice == DUE_SOME && lane->due.files > 0 &&
	    now - lane->parts.began_ns < PARTS_MS * MS_NS)
		return;
	lane->resume_ns = duty_cycle_resume_ns(&lane->parts);
	lane->parts.catalog = NULL;
}

/* Ends the round after a failure. Its files are in the next one: otherwise those that change again
 * and again would be in this one as often. */
static void abandon_round(struct lane *lane)
{
	pthread_mutex_lock(&lane->worker.lock);
	if (due_return(&lane->due, &lane->backoff, &lane->failing, clock_monotonic_ns()) < 0)
		atomic_store(&lane->forgot, true);
	pthread_mutex_unlock(&lane->worker.lock);
	due_free(&lane->due);
}

/* Compares a part of the due files; all: as in take_due(), and the part is the whole. Sets *nothing
 * to whether no file may be compared now. Returns 0 or -errno. */
static int compare_due(struct lane *lane, bool all, bool *nothing)
{
	CLEANUP(due_part_free) struct due_part part = {0};
	struct duty_cycle cycle = duty_cycle_begin(lane->ingest.catalog);
	enum due_choice choice = DUE_SOME;
	int r = note_forgotten(lane);

	if (r == 0)
		r = take_due(lane, all);
	if (r == 0)
		r = choose_part(lane, all, &choice, &part);
	*nothing = part.files.count == 0;
	lane->rare_ns = cycle.began_ns + DUTY_CYCLE_PAUSE_MS_MIN * MS_NS;
	if (r == 0 && *nothing)
		return 0;
	if (r == 0)
		r = compare_part(lane, all, &part);
	if (r < 0) {
		abandon_round(lane);
		return r;
	}
	due_remove(&lane->due, &part);
	lane->retries = false;
	adapt_parts(lane, &part, &cycle);
	schedule(lane, choice, &cycle);
	return 0;
}

/* Compares all waiting files for a ticket. Sets *moved to whether a file differed from its index
 * entry. */
static int compare_for_barrier(struct lane *lane, bool *moved)
{
	bool nothing = false;
	int r = 0;

	atomic_store(&lane->moved, false);
	for (int round = 0; r == 0 && !nothing && round < BARRIER_ROUNDS; round++)
		r = compare_due(lane, true, &nothing);
	*moved = atomic_load(&lane->moved);
	return r;
}

/* ---- the comparer thread ------------------------------------------------------------ */

static void wait_to_begin(struct lane *lane)
{
	pthread_mutex_lock(&lane->worker.lock);
	while (lane->held && !lane->worker.ending)
		pthread_cond_wait(&lane->worker.changed, &lane->worker.lock);
	pthread_mutex_unlock(&lane->worker.lock);
}

/* Runs the first comparison until it succeeds or fails with -EUCLEAN. Returns 0, -ECANCELED if the
 * thread has to end, or another -errno. */
static int compare_first(struct lane *lane)
{
	const struct lanes_settings *settings = &lane->lanes->settings;
	unsigned int pause_ms = RETRY_MS_MIN;
	bool again = false;
	int r;

	wait_to_begin(lane);
	if (stop_requested())
		return -ECANCELED;
	settings->indexing->ingest.range = lane->range;
	lane->ingest = (struct ingest){.catalog = settings->indexing->catalog,
				       .sources = &settings->indexing->sources,
				       .settings = &settings->indexing->ingest_settings,
				       .hooks = settings->indexing->hooks};
	do {
		report_busy(lane, true, 0);
		begin_comparison(lane);
		r = indexing_contents(settings->indexing,
				      again ? PROGRESS_NEVER : settings->progress);
		/* the result of a stopped comparison is not reported */
		if (stop_requested())
			return -ECANCELED;
		report_busy(lane, r < 0, -r);
		note_compared(lane, r);
		again = true;
		if (r < 0 && !ticket_worker_pause(&lane->worker, pause_ms))
			return -ECANCELED;
		if (pause_ms < RETRY_MS_MAX)
			pause_ms *= 2;
	} while (r < 0 && r != -EUCLEAN);
	return r == 0 ? note_all_unread(lane) : r;
}

/* Returns the time of the next comparison without a ticket. The caller holds the lock. */
static uint64_t next_comparison_ns(const struct lane *lane)
{
	uint64_t due_ns = backoff_next_ns(&lane->backoff);
	uint64_t failed_ns = backoff_next_ns(&lane->failing);

	if (failed_ns < due_ns)
		due_ns = failed_ns;
	if (lane->forgot || lane->retry || due_ns < lane->rare_ns)
		due_ns = lane->rare_ns;
	return lane->due.files > 0 && lane->resume_ns < due_ns ? lane->resume_ns : due_ns;
}

/* Frees the entries of quiet files and the noted rivals, and returns free memory to the kernel. The
 * caller holds the lock. */
static void sweep(struct lane *lane, uint64_t now_ns)
{
	if (now_ns < lane->sweep_ns)
		return;
	backoff_sweep(&lane->backoff, now_ns);
	backoff_sweep(&lane->failing, now_ns);
	bytes_free(&lane->rivals);
	memory_trim();
	lane->sweep_ns = now_ns + SWEEP_MS * MS_NS;
}

static bool comparison_is_due(void *context, uint64_t now_ns, uint64_t *until_ns)
{
	struct lane *lane = context;
	uint64_t next_ns = next_comparison_ns(lane);

	sweep(lane, now_ns);
	*until_ns = next_ns < lane->sweep_ns ? next_ns : lane->sweep_ns;
	return next_ns <= now_ns;
}

/* Does one round of work. broken: the index is corrupt. It is rebuilt at the next start; until then
 * no file is compared, and each ticket is answered with EUCLEAN. */
static int compare_noted(struct lane *lane, uint64_t ticket, bool *moved, bool broken)
{
	bool nothing;

	if (broken)
		return -EUCLEAN;
	return ticket ? compare_for_barrier(lane, moved) : compare_due(lane, false, &nothing);
}

static void *compare(void *context)
{
	struct lane *lane = context;
	struct catalog *catalog = lane->lanes->settings.indexing->catalog;
	int r = compare_first(lane);
	bool moved = false, goes_on = r != -ECANCELED;
	uint64_t ticket;

	while (goes_on && ticket_worker_wait(&lane->worker, comparison_is_due, lane, &ticket)) {
		report_busy(lane, true, -r);
		r = compare_noted(lane, ticket, &moved, r == -EUCLEAN);
		report_busy(lane, r < 0 || lane->due.files > 0, -r);
		if (ticket && !stop_requested())
			pass_ticket(lane, ticket, -r, moved);
		catalog_judge(catalog, r);
		goes_on = r == 0 || ticket_worker_pause(&lane->worker, RETRY_MS_MIN);
	}
	return NULL;
}

/* ---- the mapper thread -------------------------------------------------------------- */

static bool run_is_due(void *context, uint64_t now_ns, uint64_t *until_ns)
{
	const struct mapper *mapper = context;
	uint64_t next_ns = mapper->noted ? 0 : mapper->again_ns;

	if (mapper->reports)
		return true;
	*until_ns = next_ns > mapper->resume_ns ? next_ns : mapper->resume_ns;
	return *until_ns <= now_ns;
}

/* Begins a run, which includes all groups that were noted before. Sets *remap to whether it
 * includes all groups. Returns whether any was noted. */
static bool begin_run(struct mapper *mapper, bool *remap)
{
	bool noted;

	pthread_mutex_lock(&mapper->worker.lock);
	noted = mapper->noted;
	*remap = mapper->remap;
	mapper->noted = mapper->remap = false;
	pthread_mutex_unlock(&mapper->worker.lock);
	return noted;
}

/* Returns when the groups have to be mapped again that the last run left, as a time of
 * clock_monotonic_ns(). */
static uint64_t next_run_ns(const struct mapper *mapper)
{
	uint64_t now = (uint64_t)clock_now().tv_sec;

	if (!mapper->due)
		return UINT64_MAX;
	return clock_monotonic_ns() + (mapper->due > now ? mapper->due - now : 1) * SECOND_NS;
}

static void end_run(struct lanes *lanes, const struct duty_cycle *round, int result, bool remap)
{
	struct mapper *mapper = &lanes->mapper;
	uint64_t again_ns = next_run_ns(mapper);
	bool reports;

	pthread_mutex_lock(&mapper->worker.lock);
	reports = mapper->reports;
	mapper->reports = false;
	mapper->noted |= result < 0;
	mapper->remap |= result < 0 && remap;
	mapper->resume_ns = duty_cycle_resume_ns(round);
	mapper->again_ns = again_ns;
	pthread_mutex_unlock(&mapper->worker.lock);
	if (reports && !stop_requested())
		report_compared(lanes, result);
}

/* Maps the noted groups, and those that are due. Returns 0 or -errno. */
static int map_once(struct lanes *lanes, bool remap)
{
	struct indexing *indexing = lanes->settings.indexing;
	struct mapper *mapper = &lanes->mapper;
	struct duty_cycle round = duty_cycle_begin(indexing->catalog);
	int r = remap ? mapping_begin_again(indexing->catalog) : 0;

	if (r == 0)
		r = mapping_run(indexing->catalog, &indexing->sources, mapper->maps_all,
				&mapper->due);
	mapper->maps_all = mapper->maps_all && r < 0;
	end_run(lanes, &round, r, remap);
	return r;
}

/* Does one round of work. For a ticket, maps only what was noted, until nothing is. Returns 0 or
 * -errno. */
static int map_noted(struct lanes *lanes, uint64_t ticket)
{
	int rounds = ticket ? BARRIER_ROUNDS : 1, r = 0;
	bool remap = false;

	while (r == 0 && rounds-- > 0 && (begin_run(&lanes->mapper, &remap) || !ticket))
		r = map_once(lanes, remap);
	return r;
}

static void *map(void *context)
{
	struct lanes *lanes = context;
	struct mapper *mapper = &lanes->mapper;
	uint64_t ticket;
	int r = 0;

	while ((r == 0 || ticket_worker_pause(&mapper->worker, RETRY_MS_MIN)) &&
	       ticket_worker_wait(&mapper->worker, run_is_due, mapper, &ticket)) {
		r = map_noted(lanes, ticket);
		catalog_judge(lanes->settings.indexing->catalog, r);
		if (ticket && !stop_requested())
			answer(lanes, ticket, -r);
	}
	return NULL;
}

/* ---- notes for the lanes ------------------------------------------------------------ */

static struct lane *lane_of(struct lanes *lanes, uint64_t size)
{
	return &lanes->list[size < LARGE_BYTES ? LANE_SMALL : LANE_LARGE];
}

/* Returns whether the members or the kept copy of a group that maps changed. The commits of the
 * mapper itself do not change the time. */
static bool is_unmapped(const struct delta_group *group)
{
	return group->now.maps && group_is_visible(&group->now) &&
	       !clock_equal(group->before.changed, group->now.changed);
}

void lanes_note_commit(struct lanes *lanes, const struct commit_delta *delta)
{
	const struct delta_file *file;
	const struct delta_group *group;
	bool unmapped = false;

	for (size_t i = 0; (file = commit_delta_at(delta, DELTA_FILES, i)); i++) {
		if (file->what & DELTA_FILE_UNREAD)
			note_changed(lane_of(lanes, file->size), file->file, true);
		if (file->what & DELTA_FILE_BACK)
			note_rival(lane_of(lanes, file->size), file->size);
	}
	for (size_t i = 0; !unmapped && (group = commit_delta_at(delta, DELTA_GROUPS, i)); i++)
		unmapped = is_unmapped(group);
	if (unmapped)
		request_run(&lanes->mapper, false, false);
}

bool lanes_have_new_rival(struct lanes *lanes, uint64_t size)
{
	struct lane *lane = lane_of(lanes, size);
	const uint64_t *sizes;
	bool has_new_rival;

	pthread_mutex_lock(&lane->worker.lock);
	has_new_rival = lane->any_rival;
	sizes = (const void *)lane->rivals.data;
	for (size_t i = 0; i < lane->rivals.length / sizeof(size) && !has_new_rival; i++)
		has_new_rival = sizes[i] == size;
	pthread_mutex_unlock(&lane->worker.lock);
	return has_new_rival;
}

void lanes_barrier(struct lanes *lanes, uint64_t ticket)
{
	ticket_worker_request(&lanes->list[LANE_SMALL].worker, ticket);
}

void lanes_remap(struct lanes *lanes)
{
	request_run(&lanes->mapper, true, false);
}

void lanes_note_written(struct lanes *lanes, uint64_t file)
{
	for (size_t i = 0; i < LANES; i++)
		note_changed(&lanes->list[i], file, false);
}

void lanes_note_moved(struct lanes *lanes)
{
	for (size_t i = 0; i < LANES; i++)
		atomic_store(&lanes->list[i].moved, true);
}

void lanes_retry(struct lanes *lanes)
{
	for (size_t i = 0; i < LANES; i++)
		retry_failed(&lanes->list[i]);
}

/* ---- life --------------------------------------------------------------------------- */

static void init_lane(struct lanes *lanes, size_t number)
{
	struct lane *lane = &lanes->list[number];

	lane->lanes = lanes;
	lane->busy = true;
	lane->part_files = PART_FILES_MIN;
	lane->held = number == LANE_LARGE;
	lane->range = number == LANE_LARGE ? (struct ingest_range){.from = LARGE_BYTES}
					   : (struct ingest_range){.below = LARGE_BYTES};
	ticket_worker_init(&lane->worker);
}

int lanes_new(struct lanes **lanes, const struct lanes_settings *settings)
{
	struct lanes *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->settings = *settings;
	/* an earlier process possibly left groups to map */
	made->mapper.noted = made->mapper.maps_all = true;
	made->mapper.again_ns = UINT64_MAX;
	ticket_worker_init(&made->mapper.worker);
	pthread_mutex_init(&made->lock, NULL);
	for (size_t i = 0; i < LANES; i++)
		init_lane(made, i);
	*lanes = made;
	return 0;
}

int lanes_start(struct lanes *lanes)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < LANES; i++)
		r = ticket_worker_start(&lanes->list[i].worker, compare, &lanes->list[i]);
	return r < 0 ? r : ticket_worker_start(&lanes->mapper.worker, map, lanes);
}

void lanes_stop(struct lanes *lanes)
{
	if (!lanes)
		return;
	for (size_t i = 0; i < LANES; i++)
		ticket_worker_stop(&lanes->list[i].worker);
	ticket_worker_stop(&lanes->mapper.worker);
}

static void deinit_lane(struct lane *lane)
{
	backoff_free(&lane->backoff);
	backoff_free(&lane->failing);
	bytes_free(&lane->rivals);
	due_free(&lane->due);
	ticket_worker_deinit(&lane->worker);
}

void lanes_free(struct lanes *lanes)
{
	if (!lanes)
		return;
	for (size_t i = 0; i < LANES; i++)
		deinit_lane(&lanes->list[i]);
	ticket_worker_deinit(&lanes->mapper.worker);
	pthread_mutex_destroy(&lanes->lock);
	free(lanes);
}
