/* SPDX-License-Identifier: MIT */

/* The lanes have no thread of their own. Calls run in the two comparer threads and in their
 * callers:
 *
 *	small: first comparison ended --comparer_begin--> large: first comparison
 *	small: barrier reached -------comparer_barrier--> large --> settings.barrier_reached
 *	small, large: busy --lock--> settings.busy (any lane is busy)
 */
#include "daemon/lanes.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

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
	bool compared; /* settings.compared was called */
	/* what the small lane reported for tickets that the large lane has not answered yet */
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

	report_compared(lane->lanes, result);
}

static void on_small_barrier(void *context, uint64_t ticket, int error, bool moved)
{
	const struct lane *lane = context;
	struct lanes *lanes = lane->lanes;

	pthread_mutex_lock(&lanes->lock);
	lanes->moved |= moved;
	if (lanes->error == 0)
		lanes->error = error;
	pthread_mutex_unlock(&lanes->lock);
	comparer_barrier(lanes->list[LANE_LARGE].comparer, ticket);
}

static void on_large_barrier(void *context, uint64_t ticket, int error, bool moved)
{
	const struct lane *lane = context;
	struct lanes *lanes = lane->lanes;

	pthread_mutex_lock(&lanes->lock);
	moved |= lanes->moved;
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

void lanes_note_rival(struct lanes *lanes, uint64_t size)
{
	comparer_note_rival(lane_of(lanes, size), size);
}

bool lanes_have_new_rival(struct lanes *lanes, uint64_t size)
{
	return comparer_has_new_rival(lane_of(lanes, size), size);
}

void lanes_barrier(struct lanes *lanes, uint64_t ticket)
{
	comparer_barrier(lanes->list[LANE_SMALL].comparer, ticket);
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
	return r;
}

void lanes_stop(struct lanes *lanes)
{
	for (size_t i = 0; lanes && i < LANES; i++)
		comparer_stop(lanes->list[i].comparer);
}

void lanes_free(struct lanes *lanes)
{
	if (!lanes)
		return;
	for (size_t i = 0; i < LANES; i++)
		comparer_free(lanes->list[i].comparer);
	pthread_mutex_destroy(&lanes->lock);
	free(lanes);
}
