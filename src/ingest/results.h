/* SPDX-License-Identifier: MIT */
#ifndef INGEST_RESULTS_H
#define INGEST_RESULTS_H

/* The results of a comparison. Many threads add results. A background thread commits them in large
 * transactions while the other threads continue to read.
 *
 *   results_add_* --> [lists] --results_commit_behind--> [taken], committed by one thread --> LMDB
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "catalog/change.h"
#include "ingest/ingest.h"

/* A file that was read. */
struct file_result {
	uint64_t file;
	uint64_t digest; /* file_digest() when it was read */
	uint64_t prefix;
};

/* Files that were found equal: count of them, from index first on. */
struct class_result {
	/* the group that the files equal; 0: none, so two or more files make a new group */
	uint64_t group;
	uint64_t size;
	struct hash128 hash;
	bool whole; /* hash is of all bytes */
	size_t first;
	size_t count;
};

/* A file that could not be read, or has other attributes than in the index. */
struct problem_result {
	uint64_t file;
	int error; /* positive errno; 0: changed */
	struct attributes attributes; /* new attributes, if the file changed */
};

struct result_lists {
	struct bytes files; /* of struct file_result; each of the next fields has its own struct */
	struct bytes classes;
	struct bytes problems;
};

struct results {
	struct catalog *catalog; /* these two are borrowed */
	const struct ingest_hooks *hooks; /* or NULL */
	pthread_mutex_t lock; /* protects the lists */
	struct result_lists lists;
	pthread_mutex_t commit_lock; /* protects all fields below */
	struct result_lists taken; /* owned by the thread while it runs */
	pthread_t thread;
	bool at_work; /* the thread has to be joined */
	_Atomic bool done; /* the thread is about to return */
	int error; /* of the thread */
	uint64_t committed_ns; /* time of the last commit; owned by the thread while it runs */
	uint64_t commit_took_ns;
	pthread_t timer;
	bool timed; /* the timer runs; used only by the thread that starts and stops it */
	pthread_mutex_t timer_lock; /* protects timer_ends */
	pthread_cond_t timer_changed;
	bool timer_ends;
};

void results_init(struct results *results, struct catalog *catalog,
		  const struct ingest_hooks *hooks);
void results_deinit(struct results *results);

/* Both functions copy their arguments. Any thread. Returns 0 or -ENOMEM. */
MUST_CHECK int results_add_class(struct results *results, const struct class_result *class,
				 const struct file_result *files);
MUST_CHECK int results_add_problem(struct results *results, const struct problem_result *problem);

/* Starts a commit in the background if enough results are waiting or enough time has passed. Does
 * nothing while a commit is in progress. Any thread. Returns 0, or the error of an earlier
 * commit. */
MUST_CHECK int results_commit_if_due(struct results *results);

/* Waits for the commit in progress, then commits all results in the background. Returns 0, or the
 * error of an earlier commit. */
MUST_CHECK int results_commit_behind(struct results *results);

/* Between these two calls a timer thread commits results when they are due, even during a long
 * comparison. If the thread cannot be started, the results are committed later. */
void results_start_timer(struct results *results);
void results_stop_timer(struct results *results);

/* Waits for the commit in progress. Returns 0 or its error. */
MUST_CHECK int results_wait(struct results *results);

/* Commits all results. Returns 0 or -errno. */
MUST_CHECK int results_commit(struct results *results);

#endif
