/* SPDX-License-Identifier: MIT */

/* The mapper thread:
 *
 *	waits for		passes on
 *	mapper_note_commit(),	mapping_run() --> commits
 *	  mapper_remap()
 *	a ticket		up to BARRIER_ROUNDS runs --> settings.barrier_reached
 *	again_ns		another run, for bytes that were not on the disk
 *	mapper_begin()		a run --> settings.mapped
 *	the end of a pause	(duty_cycle.h after each run, RETRY_MS after a failure)
 */
#include "daemon/mapper.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/stop.h"
#include "catalog/commit_delta.h"
#include "daemon/duty_cycle.h"
#include "daemon/ticket_worker.h"
#include "sharing/mapping.h"

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

void mapper_note_commit(struct mapper *mapper, const struct commit_delta *delta)
{
	bool unmapped = false;

	for (size_t i = 0; i < delta->group_count && !unmapped; i++)
		unmapped = is_unmapped(&delta->groups[i]);
	if (!unmapped)
		return;
	pthread_mutex_lock(&mapper->worker.lock);
	mapper->noted = true;
	ticket_worker_wake(&mapper->worker);
	pthread_mutex_unlock(&mapper->worker.lock);
}

void mapper_begin(struct mapper *mapper)
{
	pthread_mutex_lock(&mapper->worker.lock);
	mapper->noted = mapper->reports = true;
	ticket_worker_wake(&mapper->worker);
	pthread_mutex_unlock(&mapper->worker.lock);
}

void mapper_remap(struct mapper *mapper)
{
	pthread_mutex_lock(&mapper->worker.lock);
	mapper->noted = mapper->remap = true;
	ticket_worker_wake(&mapper->worker);
	pthread_mutex_unlock(&mapper->worker.lock);
}

void mapper_barrier(struct mapper *mapper, uint64_t ticket)
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

int mapper_new(struct mapper **mapper, const struct mapper_settings *settings)
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

int mapper_start(struct mapper *mapper)
{
	return ticket_worker_start(&mapper->worker, map, mapper);
}

void mapper_stop(struct mapper *mapper)
{
	if (mapper)
		ticket_worker_stop(&mapper->worker);
}

void mapper_free(struct mapper *mapper)
{
	if (!mapper)
		return;
	ticket_worker_deinit(&mapper->worker);
	free(mapper);
}
