/* SPDX-License-Identifier: MIT */

/* The lanes have no thread of their own. Calls run in the two comparer threads, in the mapper
 * thread and in their callers:
 *
 *	small: first comparison ended --comparer_begin--> large: first comparison
 *	small: barrier reached -------comparer_barrier--> large
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
 *	the end of a pause	(ticket_worker.h after each run, RETRY_MS after a failure)
 */
#include "view/follow/lanes.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/stop.h"
#include "index/commit_delta.h"
#include "scan/indexing.h"
#include "scan/mapping.h"
#include "view/follow/ticket_worker.h"

/* Smallest size of a large file. At 100 MB/s a disk reads two files below this size in about
 * 160 ms. */
#define LARGE_BYTES (UINT64_C(8) << 20)

/* Pause of the mapper after a failure, which is usually a full disk. */
#define RETRY_MS 1000

/* Maximum number of runs of the mapper for one barrier. Groups can change all the time. */
#define BARRIER_ROUNDS 3

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
	struct comparer_settings settings;
	struct mapper mapper;
	pthread_mutex_t lock; /* guards all fields below, and is held in settings.busy */
	struct lane list[LANES];
	bool compared; /* settings.compared was called */
	/* what the lanes reported for tickets that the mapper has not answered yet */
	int error; /* positive errno, or 0 */
	bool moved;
};

static struct comparer *lane_of(struct lanes *lanes, uint64_t size)
{
	return lanes->list[size < LARGE_BYTES ? LANE_SMALL : LANE_LARGE].comparer;
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

/* ---- reports of the lanes and the mapper --------------------------------------------- */

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
		request_run(&lane->lanes->mapper, false, true);
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
	ticket_worker_request(&lane->lanes->mapper.worker, ticket);
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

/* ---- the mapper thread --------------------------------------------------------------- */

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

static void end_run(struct lanes *lanes, uint64_t began_ns, int result, bool remap)
{
	struct mapper *mapper = &lanes->mapper;
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
		report_compared(lanes, result);
}

/* Maps the noted groups, and those that are due. Returns 0 or -errno. */
static int run(struct lanes *lanes, bool remap)
{
	struct indexing *indexing = lanes->settings.indexing;
	struct mapper *mapper = &lanes->mapper;
	uint64_t began_ns = clock_monotonic_ns();
	int r = remap ? mapping_begin_again(indexing->catalog) : 0;

	if (r == 0)
		r = mapping_run(indexing->catalog, &indexing->sources, mapper->maps_all,
				&mapper->due);
	mapper->maps_all = mapper->maps_all && r < 0;
	end_run(lanes, began_ns, r, remap);
	return r;
}

/* Does one round of work. For a ticket, maps only what was noted, until nothing is. Returns 0 or
 * -errno. */
static int work(struct lanes *lanes, uint64_t ticket)
{
	int rounds = ticket ? BARRIER_ROUNDS : 1, r = 0;
	bool remap = false;

	while (r == 0 && rounds-- > 0 && (begin_run(&lanes->mapper, &remap) || !ticket))
		r = run(lanes, remap);
	return r;
}

static void *map(void *context)
{
	struct lanes *lanes = context;
	struct mapper *mapper = &lanes->mapper;
	uint64_t ticket;
	int r = 0;

	while ((r == 0 || ticket_worker_pause(&mapper->worker, RETRY_MS)) &&
	       ticket_worker_wait(&mapper->worker, is_due, mapper, &ticket)) {
		r = work(lanes, ticket);
		catalog_judge(lanes->settings.indexing->catalog, r);
		if (ticket && !stop_requested())
			answer(lanes, ticket, -r);
	}
	return NULL;
}

/* ---- notes for the lanes ------------------------------------------------------------- */

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
			comparer_note_changed(lane_of(lanes, file->size), file->file, true);
		if (file->what & DELTA_FILE_BACK)
			comparer_note_rival(lane_of(lanes, file->size), file->size);
	}
	for (size_t i = 0; !unmapped && (group = commit_delta_at(delta, DELTA_GROUPS, i)); i++)
		unmapped = is_unmapped(group);
	if (unmapped)
		request_run(&lanes->mapper, false, false);
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
	request_run(&lanes->mapper, true, false);
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

int lanes_new(struct lanes **lanes, const struct comparer_settings *settings)
{
	struct lanes *made = calloc(1, sizeof(*made));
	int r = 0;

	if (!made)
		return -ENOMEM;
	made->settings = *settings;
	/* an earlier process possibly left groups to map */
	made->mapper.noted = made->mapper.maps_all = true;
	made->mapper.again_ns = UINT64_MAX;
	ticket_worker_init(&made->mapper.worker);
	pthread_mutex_init(&made->lock, NULL);
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
	return r < 0 ? r : ticket_worker_start(&lanes->mapper.worker, map, lanes);
}

void lanes_stop(struct lanes *lanes)
{
	if (!lanes)
		return;
	for (size_t i = 0; i < LANES; i++)
		comparer_stop(lanes->list[i].comparer);
	ticket_worker_stop(&lanes->mapper.worker);
}

void lanes_free(struct lanes *lanes)
{
	if (!lanes)
		return;
	for (size_t i = 0; i < LANES; i++)
		comparer_free(lanes->list[i].comparer);
	ticket_worker_deinit(&lanes->mapper.worker);
	pthread_mutex_destroy(&lanes->lock);
	free(lanes);
}
