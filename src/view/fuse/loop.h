/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_LOOP_H
#define VIEW_FUSE_LOOP_H

/* The threads that read the kernel's requests and pass them to libfuse.
 *
 * The loops of libfuse start threads and allocate memory on demand, and end the file system if that
 * fails. Here everything is allocated at the start, so a later lack of memory makes only some
 * requests fail. */

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "view/fuse/fuse.h"

/* Threads that answer requests; further requests wait in the kernel. Reads block on the disk, and a
 * rotating disk sorts a queue of about this length well. */
#define LOOP_THREADS_MAX 16

/* Limit of data bytes in one request or reply. */
#define LOOP_DATA_MAX (1U << 20)

struct worker {
	struct loop *loop;
	pthread_t thread;
	char *memory; /* buffer for a request */
};

struct loop {
	/* protects the fields up to result; workers and count are written by loop_run only */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* uses the monotonic clock */
	struct fuse_session *fuse; /* borrowed, or NULL if not running */
	unsigned int running; /* workers that have not ended */
	bool ending;
	int result;
	struct worker workers[LOOP_THREADS_MAX];
	unsigned int count; /* workers that were started; constant once one is activated */
	bool rings; /* libfuse has threads for io_uring; set before loop_run */

	sem_t activation; /* posted to activate a parked worker */
	atomic_uint parked; /* workers that wait for their activation */
	atomic_uint free; /* active workers without a request */
	atomic_uint surplus; /* requests in a row that left more than LOOP_SPARE workers free */
	atomic_bool begun; /* FUSE_INIT, the first request, was accepted; set by its callback */
};

void loop_init(struct loop *loop);
void loop_deinit(struct loop *loop);

/* Answers requests until the file system is unmounted or loop_stop is called. threads (1 to
 * LOOP_THREADS_MAX) is the number of workers; if some cannot be started, the others suffice.
 * Returns 0, or -errno if requests cannot be answered. Call it once. */
MUST_CHECK int loop_run(struct loop *loop, struct fuse_session *fuse, unsigned int threads);

/* Returns how many threads may wait for replies to other requests at the same time, from a callback
 * of libfuse. The other workers answer these requests. With io_uring, one thread answers all
 * requests of a processor, so a request that it waits for can be behind its own. */
static inline unsigned int loop_waits_max(const struct loop *loop)
{
	return loop->rings ? 0 : loop->count / 2;
}

/* Makes loop_run end, and waits until its workers have ended. A later loop_run ends at once. Any
 * thread except those of the loop. */
void loop_stop(struct loop *loop);

/* ---- buffers for replies ------------------------------------------------------------ */

/* Buffers for replies, which are reused. Without reuse, malloc takes new pages from the kernel for
 * each request, and the kernel clears them. The clearing was a tenth of the work of reading a large
 * file. Any thread. */

/* Maximum number of idle buffers: one for each thread of the loop. Further buffers are freed. */
#define BUFFERS_MAX 16

struct buffer {
	char *data;
	size_t size;
};

struct buffers {
	pthread_mutex_t lock;
	struct buffer idle[BUFFERS_MAX];
	size_t count;
};

void buffers_init(struct buffers *buffers);
void buffers_deinit(struct buffers *buffers);

/* Returns a buffer of at least size bytes with undefined content; data is NULL if memory is short.
 * In both cases, the caller must return the buffer by buffers_return. */
struct buffer buffers_take(struct buffers *buffers, size_t size);
void buffers_return(struct buffers *buffers, struct buffer buffer);

#endif
