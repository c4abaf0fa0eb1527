/* SPDX-License-Identifier: MIT */
#ifndef INGEST_RESULTS_H
#define INGEST_RESULTS_H

/* What the comparison found, on its way to the catalog: gathered by many threads, committed in
 * large transactions by a thread behind them, while they read on.
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
	uint64_t digest; /* file_digest then */
	uint64_t prefix;
};

/* Files that were found equal: count of them, in a row. */
struct class_result {
	uint64_t group; /* that they are equal to, 0: a new one if there are two of them */
	uint64_t size;
	struct hash128 hash;
	bool whole; /* hash is of all bytes */
	size_t first;
	size_t count;
};

/* A file that could not be read, or is not as the index has it. */
struct problem_result {
	uint64_t file;
	int error; /* positive errno; 0: changed */
	struct attributes attributes; /* changed: the new ones */
};

struct result_lists {
	struct bytes files; /* of struct file_result; the same for the others */
	struct bytes classes;
	struct bytes problems;
};

struct results {
	struct catalog *catalog; /* these two borrowed */
	const struct ingest_hooks *hooks; /* or NULL */
	pthread_mutex_t lock; /* of the lists */
	struct result_lists lists;
	pthread_mutex_t commit_lock; /* of all that follows */
	struct result_lists taken; /* they belong to the thread while one is at work */
	pthread_t thread;
	bool at_work; /* the thread has to be joined */
	_Atomic bool done; /* that will not take long */
	int error; /* of the thread */
	uint64_t committed_ns; /* when; of the thread while one is at work */
	uint64_t commit_took_ns;
	pthread_t timer;
	bool timed; /* the timer runs: of who starts and stops it */
	pthread_mutex_t timer_lock; /* of the next one */
	pthread_cond_t timer_changed;
	bool timer_ends;
};

void results_init(struct results *results, struct catalog *catalog,
		  const struct ingest_hooks *hooks);
void results_deinit(struct results *results);

/* Each copies what it is given. Any thread. */
MUST_CHECK int results_add_class(struct results *results, const struct class_result *class,
				 const struct file_result *files);
MUST_CHECK int results_add_problem(struct results *results, const struct problem_result *problem);

/* Commits behind when so much or so long has gathered that it is worth a transaction and no other
 * one is under way. Any thread. 0, or the error of an earlier one. */
MUST_CHECK int results_commit_if_due(struct results *results);

/* Has a thread commit what was gathered, once what it had before is committed. 0, or the error of
 * that. */
MUST_CHECK int results_commit_behind(struct results *results);

/* Between the two calls a thread commits what is due, however long a comparison takes. Without the memory
 * for a thread it is committed later. */
void results_start_timer(struct results *results);
void results_stop_timer(struct results *results);

/* Waits until all is committed that results_commit_behind was told to; 0 or its error. */
MUST_CHECK int results_wait(struct results *results);

/* Commits everything. */
MUST_CHECK int results_commit(struct results *results);

#endif
