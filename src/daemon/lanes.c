/* SPDX-License-Identifier: MIT */

/* The lanes have no thread of their own. Calls run in the two comparer threads and in their
 * callers:
 *
 *	small: first comparison ended --comparer_begin--> large: first comparison
 *	small: barrier reached -------comparer_barrier--> large
 *	large: first comparison ended --mapper_begin----> mapper --> settings.compared
 *	large: barrier reached -------mapper_barrier----> mapper --> settings.barrier_reached
 *	small, large: busy --lock--> settings.busy (any lane is busy)
 */
#include "daemon/lanes.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/stop.h"
#include "catalog/commit_delta.h"
#include "daemon/ticket_worker.h"
#include "index/indexing.h"
#include "sharing/mapping.h"

/* ---- mapper -------------------------------------------------------------------------- */

/* The thread that maps the extents of groups whose members changed (sharing/mapping.h), so that the
 * view shows how many bytes their redundant copies would free.
 *
 *	commits ----mapper_note_commit--> mapping_run --> commits
 *	comparers --mapper_barrier-----'      |
 *	                                      '--> barrier_reached
 */

struct mapper_settings {
	struct indexing *indexing; /* borrowed */
	/* Reports that the groups noted before this ticket are mapped, except those whose files are
	 * not on the disk yet. Runs in the mapper thread. error: 0, or a positive errno. */
	void (*barrier_reached)(void *context, uint64_t ticket, int error);
	/* Reports the end of the run that mapper_begin() requested: 0 or -errno. */
	void (*mapped)(void *context, int result);
	void *context;
};

/* The mapper thread:
 *
 *	waits for		passes on
 *	mapper_note_commit(),	mapping_run() --> commits
 *	  mapper_remap()
 *	a ticket		up to BARRIER_ROUNDS runs --> settings.barrier_reached
 *	again_ns		another run, for bytes that were not on the disk
 *	mapper_begin()		a run --> settings.mapped
 *	the end of a pause	(ticket_worker.h after each run, RETRY_MS after a failure)
 */

/* Pause after a failure, which is usually a full disk. */
#define RETRY_MS 1000

/* Maximum number of runs for one barrier. Groups can change all the time. */
#define BARRIER_ROUNDS 3

struct mapper {
	struct mapper_settings settings;
	/* used only by the mapper thread */
	uint64_t due; /* as set by mapping_run() */
	bool maps_all; /* the first run maps also the groups whose time is later */
	struct ticket_worker worker; /* its lock also guards all fields below */
	bool noted; /* a group was noted since the last run began */
	bool remap; /* all groups have to be mapped again */
	bool reports; /* settings.mapped has to be called after a run */
	uint64_t resume_ns; /* earliest next run, unless a ticket waits */
	uint64_t again_ns; /* time of a run without a note; UINT64_MAX: none */
};

/* ---- notes from other threads -------------------------------------------------------- */

/* Returns whether the members or the kept copy of a group that maps changed. The commits of the
 * mapper itself do not change the time. */
static bool is_unmapped(const struct delta_group *group)
{
	return group->now.maps && group_is_visible(&group->now) &&
	       !clock_equal(group->before.changed, group->now.changed);
}

/* Notes the groups that a commit left to be mapped. Any thread. */
static void mapper_note_commit(struct mapper *mapper, const struct commit_delta *delta)
{
	size_t count;
	const struct delta_group *groups = commit_delta_list(delta, DELTA_GROUPS, &count);
	bool unmapped = false;

	for (size_t i = 0; i < count && !unmapped; i++)
		unmapped = is_unmapped(&groups[i]);
	if (!unmapped)
		return;
	pthread_mutex_lock(&mapper->worker.lock);
	mapper->noted = true;
	ticket_worker_wake(&mapper->worker);
	pthread_mutex_unlock(&mapper->worker.lock);
}

/* Requests a run, and settings.mapped at its end. Any thread. */
static void mapper_begin(struct mapper *mapper)
{
	pthread_mutex_lock(&mapper->worker.lock);
	mapper->noted = mapper->reports = true;
	ticket_worker_wake(&mapper->worker);
	pthread_mutex_unlock(&mapper->worker.lock);
}

/* Notes that any file possibly shares other extents than before. Any thread. */
static void mapper_remap(struct mapper *mapper)
{
	pthread_mutex_lock(&mapper->worker.lock);
	mapper->noted = mapper->remap = true;
	ticket_worker_wake(&mapper->worker);
	pthread_mutex_unlock(&mapper->worker.lock);
}

/* Requests that all noted groups are mapped. settings.barrier_reached reports their end. Any
 * thread. */
static void mapper_barrier(struct mapper *mapper, uint64_t ticket)
{
	ticket_worker_request(&mapper->worker, ticket);
}

/* ---- the thread ---------------------------------------------------------------------- */

static bool is_due(void *context, uint64_t now_ns, uint64_t *until_ns)
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

static void end_run(struct mapper *mapper, uint64_t began_ns, int result, bool remap)
{
	uint64_t again_ns = next_run_ns(mapper);
	bool reports;

	pthread_mutex_lock(&mapper->worker.lock);
	reports = mapper->reports;
	mapper->reports = false;
	mapper->noted |= result < 0;
	mapper->remap |= result < 0 && remap;
	mapper->resume_ns = duty_cycle_resume_ns(began_ns);
	mapper->again_ns = again_ns;
	pthread_mutex_unlock(&mapper->worker.lock);
	if (reports && !stop_requested())
		mapper->settings.mapped(mapper->settings.context, result);
}

/* Maps the noted groups, and those that are due. Returns 0 or -errno. */
static int run(struct mapper *mapper, bool remap)
{
	struct indexing *indexing = mapper->settings.indexing;
	uint64_t began_ns = clock_monotonic_ns();
	int r = remap ? mapping_begin_again(indexing->catalog) : 0;

	if (r == 0)
		r = mapping_run(indexing->catalog, &indexing->sources, mapper->maps_all,
				&mapper->due);
	mapper->maps_all = mapper->maps_all && r < 0;
	end_run(mapper, began_ns, r, remap);
	return r;
}

/* Does one round of work. For a ticket, maps only what was noted, until nothing is. Returns 0 or
 * -errno. */
static int work(struct mapper *mapper, uint64_t ticket)
{
	int rounds = ticket ? BARRIER_ROUNDS : 1, r = 0;
	bool remap = false;

	while (r == 0 && rounds-- > 0 && (begin_run(mapper, &remap) || !ticket))
		r = run(mapper, remap);
	return r;
}

static void *map(void *context)
{
	struct mapper *mapper = context;
	uint64_t ticket;
	int r = 0;

	while ((r == 0 || ticket_worker_pause(&mapper->worker, RETRY_MS)) &&
	       ticket_worker_wait(&mapper->worker, is_due, mapper, &ticket)) {
		r = work(mapper, ticket);
		catalog_judge(mapper->settings.indexing->catalog, r);
		if (ticket && !stop_requested()) {
			ticket_worker_finish(&mapper->worker, ticket);
			mapper->settings.barrier_reached(mapper->settings.context, ticket, -r);
		}
	}
	return NULL;
}

/* ---- life ---------------------------------------------------------------------------- */

/* Copies settings. Returns 0 or -ENOMEM. */
static int mapper_new(struct mapper **mapper, const struct mapper_settings *settings)
{
	struct mapper *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->settings = *settings;
	made->noted = made->maps_all = true; /* an earlier process possibly left groups */
	made->again_ns = UINT64_MAX;
	ticket_worker_init(&made->worker);
	*mapper = made;
	return 0;
}

/* Starts the thread. Returns 0 or -errno. */
static int mapper_start(struct mapper *mapper)
{
	return ticket_worker_start(&mapper->worker, map, mapper);
}

/* Ends the thread. The caller must call stop_request() first. Accepts NULL. */
static void mapper_stop(struct mapper *mapper)
{
	if (mapper)
		ticket_worker_stop(&mapper->worker);
}

static void mapper_free(struct mapper *mapper)
{
	if (!mapper)
		return;
	ticket_worker_deinit(&mapper->worker);
	free(mapper);
}

/* ---- lanes --------------------------------------------------------------------------- */

/* Smallest size of a large file. At 100 MB/s a disk reads two files below this size in about
 * 160 ms. */
#define LARGE_BYTES (UINT64_C(8) << 20)

enum {
	LANE_SMALL,
	LANE_LARGE,
	LANES,
};

struct lane {
	struct lanes *lanes;
	struct comparer *comparer;
	bool busy;
	int problem; /* positive errno, or 0 */
};

struct lanes {
	struct comparer_settings settings;
	pthread_mutex_t lock; /* guards all fields below, and is held in settings.busy */
	struct lane list[LANES];
	struct mapper *mapper;
	bool compared; /* settings.compared was called */
	/* what the lanes reported for tickets that the mapper has not answered yet */
	int error; /* positive errno, or 0 */
	bool moved;
};

static struct comparer *lane_of(struct lanes *lanes, uint64_t size)
{
	return lanes->list[size < LARGE_BYTES ? LANE_SMALL : LANE_LARGE].comparer;
}

/* ---- reports of the lanes ------------------------------------------------------------ */

static void on_busy(void *context, bool busy, int problem)
{
	struct lane *lane = context;
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

/* Starts the large lane, unless the small lane retries: both first comparisons use
 * indexing->ingest. */
static void on_small_compared(void *context, int result)
{
	const struct lane *lane = context;
	struct lanes *lanes = lane->lanes;

	if (result < 0)
		report_compared(lanes, result);
	if (result == 0 || result == -EUCLEAN)
		comparer_begin(lanes->list[LANE_LARGE].comparer);
}

static void on_large_compared(void *context, int result)
{
	const struct lane *lane = context;

	if (result < 0)
		report_compared(lane->lanes, result);
	else
		mapper_begin(lane->lanes->mapper);
}

static void on_mapped(void *context, int result)
{
	report_compared(context, result);
}

static void note_result(struct lanes *lanes, int error, bool moved)
{
	pthread_mutex_lock(&lanes->lock);
	lanes->moved |= moved;
	if (lanes->error == 0)
		lanes->error = error;
	pthread_mutex_unlock(&lanes->lock);
}

static void on_small_barrier(void *context, uint64_t ticket, int error, bool moved)
{
	const struct lane *lane = context;

	note_result(lane->lanes, error, moved);
	comparer_barrier(lane->lanes->list[LANE_LARGE].comparer, ticket);
}

static void on_large_barrier(void *context, uint64_t ticket, int error, bool moved)
{
	const struct lane *lane = context;

	note_result(lane->lanes, error, moved);
	mapper_barrier(lane->lanes->mapper, ticket);
}

static void on_mapper_barrier(void *context, uint64_t ticket, int error)
{
	struct lanes *lanes = context;
	bool moved;

	pthread_mutex_lock(&lanes->lock);
	moved = lanes->moved;
	if (lanes->error != 0)
		error = lanes->error;
	lanes->moved = false;
	lanes->error = 0;
	pthread_mutex_unlock(&lanes->lock);
	lanes->settings.barrier_reached(lanes->settings.context, ticket, error, moved);
}

/* ---- notes for the lanes ------------------------------------------------------------- */

void lanes_note_closed(struct lanes *lanes, uint64_t file, uint64_t size)
{
	comparer_note_changed(lane_of(lanes, size), file, true);
}

void lanes_note_commit(struct lanes *lanes, const struct commit_delta *delta)
{
	const struct delta_file *file;

	for (size_t i = 0; (file = commit_delta_at(delta, DELTA_FILES, i)); i++) {
		if (file->what & DELTA_FILE_UNREAD)
			lanes_note_closed(lanes, file->file, file->size);
		if (file->what & DELTA_FILE_BACK)
			comparer_note_rival(lane_of(lanes, file->size), file->size);
	}
	mapper_note_commit(lanes->mapper, delta);
}

bool lanes_have_new_rival(struct lanes *lanes, uint64_t size)
{
	return comparer_has_new_rival(lane_of(lanes, size), size);
}

void lanes_barrier(struct lanes *lanes, uint64_t ticket)
{
	comparer_barrier(lanes->list[LANE_SMALL].comparer, ticket);
}

void lanes_remap(struct lanes *lanes)
{
	mapper_remap(lanes->mapper);
}

void lanes_note_written(struct lanes *lanes, uint64_t file)
{
	for (size_t i = 0; i < LANES; i++)
		comparer_note_changed(lanes->list[i].comparer, file, false);
}

void lanes_note_moved(struct lanes *lanes)
{
	for (size_t i = 0; i < LANES; i++)
		comparer_note_moved(lanes->list[i].comparer);
}

void lanes_retry(struct lanes *lanes)
{
	for (size_t i = 0; i < LANES; i++)
		comparer_retry(lanes->list[i].comparer);
}

/* ---- life ---------------------------------------------------------------------------- */

static int make_lane(struct lanes *lanes, size_t number)
{
	struct lane *lane = &lanes->list[number];
	struct comparer_settings settings = lanes->settings;
	bool large = number == LANE_LARGE;

	lane->lanes = lanes;
	lane->busy = true; /* until the first comparison has ended */
	settings.range = large ? (struct ingest_range){.from = LARGE_BYTES}
			       : (struct ingest_range){.below = LARGE_BYTES};
	settings.held = large;
	settings.compared = large ? on_large_compared : on_small_compared;
	settings.busy = on_busy;
	settings.barrier_reached = large ? on_large_barrier : on_small_barrier;
	settings.context = lane;
	return comparer_new(&lane->comparer, &settings);
}

static int make_mapper(struct lanes *lanes)
{
	const struct mapper_settings settings = {
		.indexing = lanes->settings.indexing,
		.barrier_reached = on_mapper_barrier,
		.mapped = on_mapped,
		.context = lanes,
	};

	return mapper_new(&lanes->mapper, &settings);
}

int lanes_new(struct lanes **lanes, const struct comparer_settings *settings)
{
	struct lanes *made = calloc(1, sizeof(*made));
	int r;

	if (!made)
		return -ENOMEM;
	made->settings = *settings;
	pthread_mutex_init(&made->lock, NULL);
	r = make_mapper(made);
	for (size_t i = 0; r == 0 && i < LANES; i++)
		r = make_lane(made, i);
	if (r < 0)
		lanes_free(made);
	else
		*lanes = made;
	return r;
}

int lanes_start(struct lanes *lanes)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < LANES; i++)
		r = comparer_start(lanes->list[i].comparer);
	return r < 0 ? r : mapper_start(lanes->mapper);
}

void lanes_stop(struct lanes *lanes)
{
	for (size_t i = 0; lanes && i < LANES; i++)
		comparer_stop(lanes->list[i].comparer);
	if (lanes)
		mapper_stop(lanes->mapper);
}

void lanes_free(struct lanes *lanes)
{
	if (!lanes)
		return;
	for (size_t i = 0; i < LANES; i++)
		comparer_free(lanes->list[i].comparer);
	mapper_free(lanes->mapper);
	pthread_mutex_destroy(&lanes->lock);
	free(lanes);
}
