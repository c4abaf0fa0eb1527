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
#include <stdlib.h>

#include "catalog/commit_delta.h"
#include "daemon/mapper.h"

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
	for (size_t i = 0; i < delta->file_count; i++) {
		const struct delta_file *file = &delta->files[i];

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
