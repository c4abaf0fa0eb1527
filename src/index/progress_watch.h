/* SPDX-License-Identifier: MIT */
#ifndef INDEX_PROGRESS_WATCH_H
#define INDEX_PROGRESS_WATCH_H

/* A thread that shows the progress of an ingest on stderr while another thread works.
 *
 *	worker: ingest_names(), ingest_contents() --> ingest->progress (atomic counters)
 *	                                                     |
 *	progress thread: waits 200 ms or for the end --------'--> progress line on stderr
 */

#include <pthread.h>
#include <stdbool.h>

#include "base/progress.h"

struct ingest;

enum progress_phase {
	PROGRESS_NAMES,
	PROGRESS_CONTENTS,
};

/* Returns the progress of an ingest. Any thread. */
struct progress_counts progress_counts_of(const struct ingest *ingest, enum progress_phase phase);

struct progress_watch {
	struct progress progress;
	const struct ingest *ingest; /* borrowed */
	enum progress_phase phase;
	bool running;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool end; /* under lock */
};

/* Starts the thread, if progress is to be shown. If it cannot be started, no progress is shown. The
 * ingest is borrowed until progress_watch_end(). */
void progress_watch_begin(struct progress_watch *watch, const struct ingest *ingest,
			  enum progress_phase phase, enum progress_when when);

/* Ends the thread and the progress (progress_end()). */
void progress_watch_end(struct progress_watch *watch);

#endif
