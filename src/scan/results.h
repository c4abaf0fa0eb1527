/* SPDX-License-Identifier: MIT */
#ifndef SCAN_RESULTS_H
#define SCAN_RESULTS_H

/* The results of a comparison. Many threads add results. A background thread commits them in large
 * transactions while the other threads continue to read.
 *
 *   results_add_* --> [lists] --results_commit*--> [taken], committed by one thread --> LMDB
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "index/change.h"
#include "scan/ingest.h"

/* A file that was read. */
struct file_result {
	uint64_t file;
	uint64_t digest; /* file_digest() when it was read */
	uint64_t prefix; /* prefix_of() its prefix hash */
};

/* Files that were found equal: count elements of a list of struct file_result, from index first. */
struct class_result {
	/* the group that the files equal; 0: none, so two or more files make a new group */
	uint64_t group;
	uint64_t size;
	struct hash128 hash;
	bool whole; /* hash was computed from all bytes; false: it is the prefix hash */
	size_t first;
	size_t count;
};

/* A file that could not be read, or whose attributes differ from the index. */
struct problem_result {
	uint64_t file;
	int error; /* positive errno; 0: changed */
	struct attributes attributes; /* new attributes, if the file changed */
};

struct result_lists {
	struct bytes files; /* array of struct file_result */
	struct bytes classes; /* array of struct class_result */
	struct bytes problems; /* array of struct problem_result */
};

struct results {
	struct catalog *catalog; /* borrowed */
	const struct ingest_hooks *hooks; /* borrowed, or NULL */
	bool of_scan; /* the results belong to a scan, see catalog_reconsider_kept() */
	pthread_mutex_t lock; /* protects lists */
	struct result_lists lists; /* not yet taken */
	pthread_mutex_t commit_lock; /* protects the fields from here to commit_took_ns */
	struct result_lists taken; /* being committed; owned by the thread while it runs */
	pthread_t thread;
	bool at_work; /* the thread has to be joined */
	_Atomic bool done; /* the thread is about to return */
	int error; /* -errno of the last commit, or 0; owned by the thread while it runs */
	uint64_t committed_ns; /* monotonic time of the last commit; owned by the thread, too */
	uint64_t commit_took_ns; /* duration of the last commit; owned by the thread, too */
	pthread_t timer;
	bool timed; /* the timer runs; used only by the thread that starts and stops it */
	pthread_mutex_t timer_lock; /* protects timer_ends */
	pthread_cond_t timer_changed;
	bool timer_ends;
};

void results_init(struct results *results, struct catalog *catalog,
		  const struct ingest_hooks *hooks);

/* Waits for the commit in progress and drops results that were not committed. */
void results_deinit(struct results *results);

/* Add a class, or a problem. The arguments are copied; class->first is not used. Any thread. Return
 * 0 or -ENOMEM. */
MUST_CHECK int results_add_class(struct results *results, const struct class_result *class,
				 const struct file_result *files);
MUST_CHECK int results_add_problem(struct results *results, const struct problem_result *problem);

/* Starts a commit in the background if enough results wait or enough time has passed. Does nothing
 * while a commit is in progress. If no thread can be started, commits in the calling thread. Any
 * thread. Returns 0, or the -errno of the last commit. */
MUST_CHECK int results_commit_if_due(struct results *results);

/* Start and stop a timer thread, which commits results when they are due, also during a long
 * comparison. If the thread cannot be started, results are committed later. */
void results_start_timer(struct results *results);
void results_stop_timer(struct results *results);

/* Waits for the commit in progress. Returns 0, or the -errno of the last commit. */
MUST_CHECK int results_wait(struct results *results);

/* Waits for the commit in progress, then commits all results. behind: in the background, if a
 * thread can be started. Returns 0, or the -errno of a finished commit. */
MUST_CHECK int results_commit(struct results *results, bool behind);

#endif
