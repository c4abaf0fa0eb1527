/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_LOOP_H
#define MOUNT_LOOP_H

/* The threads that take the kernel's requests and have libfuse process them.
 *
 * libfuse has such loops, but starts threads and gets memory for them when requests come, and ends
 * the file system where that fails. Here all of it is had from the start: a lack of memory later
 * fails requests, and passes. */

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/attributes.h"
#include "mount/fuse.h"

/* Threads that answer at a time; more requests wait. Reads block on the disk, and a rotating one
 * sorts a queue of about this length well. */
#define LOOP_THREADS_MAX 16

/* The most bytes that the kernel may be allowed to send with one request, or ask for. */
#define LOOP_DATA_MAX (1U << 20)

struct worker {
	struct loop *loop;
	pthread_t thread;
	char *memory; /* for a request */
};

struct loop {
	pthread_mutex_t lock; /* of all below but the workers, which are its thread's alone */
	pthread_cond_t changed; /* on the monotonic clock */
	struct fuse_session *fuse; /* borrowed; NULL: it does not run */
	unsigned int running; /* workers that did not end */
	bool ending;
	int result;
	struct worker workers[LOOP_THREADS_MAX];
	unsigned int count; /* that were started */

	sem_t needed; /* what a worker waits for before it takes part */
	atomic_uint parked; /* workers that do */
	atomic_uint free; /* others, which have no request at hand */
};

MUST_CHECK int loop_init(struct loop *loop);
void loop_deinit(struct loop *loop);

/* Answers until the file system is unmounted or loop_stop is called; with fewer threads than asked
 * for, 1 to LOOP_THREADS_MAX, where there cannot be as many. 0, or -errno: it cannot answer (any
 * more). Once. */
MUST_CHECK int loop_run(struct loop *loop, struct fuse_session *fuse, unsigned int threads);

/* Has loop_run end, and waits for that; one that is to come will end at once. Any thread but those
 * of the loop. */
void loop_stop(struct loop *loop);

#endif
