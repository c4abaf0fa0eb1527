/* SPDX-License-Identifier: MIT */
#ifndef INDEX_PROGRESS_WATCH_H
#define INDEX_PROGRESS_WATCH_H

/* Shows on stderr how far an ingest is, from a thread of its own, while another one works.
 *
 *	worker: ingest_names() ----> ingest->progress (atomic counters)
 *	                                    |
 *	watcher: five times a second ------' ---> progress line on stderr
 */

#include <pthread.h>
#include <stdbool.h>

#include "base/attributes.h"
#include "base/progress.h"

struct ingest;

enum progress_phase {
	PROGRESS_NAMES,
	PROGRESS_CONTENTS,
};

/* How far an ingest is. Any thread. */
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

/* Begins to show it, where it is to be shown at all. The ingest must stay until the end. Without a
 * thread to spare nothing is shown. */
void progress_watch_begin(struct progress_watch *watch, const struct ingest *ingest,
			  enum progress_phase phase, enum progress_when when);

/* Takes the line away. */
void progress_watch_end(struct progress_watch *watch);

#endif
