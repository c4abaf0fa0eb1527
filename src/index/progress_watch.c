/* SPDX-License-Identifier: MIT */
#include "index/progress_watch.h"

#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/timed_wait.h"
#include "ingest/ingest.h"

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

void progress_watch_begin(struct progress_watch *watch, const struct ingest *ingest,
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

void progress_watch_end(struct progress_watch *watch)
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
