/* SPDX-License-Identifier: MIT */
#include "view/fuse/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"

/* Buffer size that the kernel requires: the data and a page for the headers. */
#define REQUEST_SIZE_MAX (LOOP_DATA_MAX + 4096)

/* Interrupts a worker that waits for a request. */
#define WAKE_SIGNAL SIGUSR2
#define WAKE_INTERVAL_NS (20 * MS_NS)

/* Free workers that stay active beside those with requests. A worker that gets the last request of
 * a burst needs no activation first. */
#define LOOP_SPARE 1

/* Number of requests in a row that left too many workers free, after which one of them is parked.
 * A program whose number of requests varies causes few activations. */
#define LOOP_SURPLUS_MAX 64

/* Delay of the next read after a lack of memory. */
#define MEMORY_RETRY_MS 20

void loop_init(struct loop *loop)
{
	*loop = (struct loop){.fuse = NULL};
	pthread_mutex_init(&loop->lock, NULL);
	timed_wait_init(&loop->changed);
	(void)sem_init(&loop->activation, 0, 0);
}

void loop_deinit(struct loop *loop)
{
	(void)sem_destroy(&loop->activation);
	pthread_mutex_destroy(&loop->lock);
	pthread_cond_destroy(&loop->changed);
}

/* ---- a worker ----------------------------------------------------------------------- */

/* Evaluates an error of read(2) on the device. Returns 0 to continue, 1 at the end, or -errno. */
static int classify_read_error(int error)
{
	switch (error) {
	case EINTR:
	case ENOENT: /* the request was interrupted */
	case EAGAIN:
		return 0;
	case ENOMEM:
	case EFAULT: /* a page of the buffer could not be allocated */
		clock_sleep_ms(MEMORY_RETRY_MS);
		return 0;
	case ENODEV: /* unmounted or aborted */
		return 1;
	default:
		return -error;
	}
}

/* The kernel distributes requests over all waiting threads, and few threads with warm caches are
 * faster than many. So another worker is activated only when all active workers are busy, and
 * workers that a burst of requests activated are parked after it. With 16 instead of 2 active
 * workers, find(1) over 1,000 groups took 0.29 instead of 0.20 s. */
static void activate_worker(struct loop *loop)
{
	unsigned int parked = atomic_load(&loop->parked);

	while (parked > 0 && !atomic_compare_exchange_weak(&loop->parked, &parked, parked - 1))
		;
	if (parked == 0)
		return;
	atomic_fetch_add(&loop->free, 1);
	(void)sem_post(&loop->activation);
}

/* Waits until the worker is activated, or until the session ends. */
static void wait_for_activation(struct loop *loop)
{
	while (sem_wait(&loop->activation) < 0 && !fuse_session_exited(loop->fuse))
		; /* interrupted by a signal */
}

/* Counts a request after which this many workers are free. Returns whether that is too many since
 * many requests; the caller then parks its worker. */
static bool is_surplus(struct loop *loop, unsigned int free_workers)
{
	if (free_workers > LOOP_SPARE) {
		unsigned int count = atomic_fetch_add(&loop->surplus, 1) + 1;

		return count % LOOP_SURPLUS_MAX == 0;
	}
	if (atomic_load(&loop->surplus))
		atomic_store(&loop->surplus, 0);
	return false;
}

/* Parks the calling worker, which has no request and is not counted as free. If all other workers
 * get requests at the same time, they find no parked worker yet. So their number is read again. */
static void park(struct loop *loop)
{
	atomic_fetch_add(&loop->parked, 1);
	if (atomic_load(&loop->free) == 0)
		activate_worker(loop);
	wait_for_activation(loop);
}

static void process(struct loop *loop, const struct fuse_buf *request)
{
	unsigned int free_workers = atomic_fetch_sub(&loop->free, 1) - 1;
	bool surplus = is_surplus(loop, free_workers);

	if (free_workers == 0)
		activate_worker(loop);
	fuse_session_process_buf(loop->fuse, request);
	if (surplus)
		park(loop);
	else
		atomic_fetch_add(&loop->free, 1);
}

static int process_requests(struct loop *loop, char *memory)
{
	int r = 0;

	while (r == 0 && !fuse_session_exited(loop->fuse)) {
		ssize_t length = read(fuse_session_fd(loop->fuse), memory, REQUEST_SIZE_MAX);
		const struct fuse_buf request = {.mem = memory, .size = (size_t)length};

		if (length < 0)
			r = classify_read_error(errno);
		else if (length == 0)
			r = -EIO; /* the device is not FUSE */
		else
			process(loop, &request);
		/* without memory, libfuse refuses FUSE_INIT, and the kernel then all requests */
		if (length > 0 && !atomic_load(&loop->begun))
			r = -ENOMEM;
	}
	return r < 0 ? r : 0;
}

static void unblock_wake_signal(void)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, WAKE_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
}

/* Answers requests until the session ends. Then ends the other workers. */
static void *work(void *context)
{
	struct worker *worker = context;
	struct loop *loop = worker->loop;
	int r = 0;

	unblock_wake_signal();
	wait_for_activation(loop);
	r = process_requests(loop, worker->memory);
	fuse_session_exit(loop->fuse);
	pthread_mutex_lock(&loop->lock);
	if (loop->result == 0)
		loop->result = r;
	loop->ending = true;
	loop->running--;
	pthread_cond_broadcast(&loop->changed);
	pthread_mutex_unlock(&loop->lock);
	return NULL;
}

/* ---- all workers -------------------------------------------------------------------- */

static int start_worker(struct loop *loop)
{
	struct worker *worker = &loop->workers[loop->count];
	int r;

	worker->loop = loop;
	worker->memory = malloc(REQUEST_SIZE_MAX);
	if (!worker->memory)
		return -ENOMEM;
	pthread_mutex_lock(&loop->lock);
	r = thread_start(&worker->thread, work, worker);
	if (r == 0)
		loop->running++;
	pthread_mutex_unlock(&loop->lock);
	if (r == 0)
		loop->count++;
	else
		free(worker->memory);
	return r;
}

static int start_workers(struct loop *loop, unsigned int threads)
{
	int r = 0;

	while (r == 0 && loop->count < threads)
		r = start_worker(loop);
	atomic_store(&loop->parked, loop->count);
	activate_worker(loop);
	return loop->count > 0 ? 0 : r;
}

/* A worker that checks for the end and then blocks can miss a signal in between. So the signal is
 * repeated until all workers have ended. */
static void wait_for_workers(struct loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	while (loop->running > 0) {
		if (loop->ending) {
			for (unsigned int i = 0; i < loop->count; i++)
				pthread_kill(loop->workers[i].thread, WAKE_SIGNAL);
			timed_wait(&loop->changed, &loop->lock,
				   clock_monotonic_ns() + WAKE_INTERVAL_NS);
		} else {
			pthread_cond_wait(&loop->changed, &loop->lock);
		}
	}
	pthread_mutex_unlock(&loop->lock);
	for (unsigned int i = 0; i < loop->count; i++) {
		pthread_join(loop->workers[i].thread, NULL);
		free(loop->workers[i].memory);
	}
}

static void *wait_to_be_cancelled(void *context)
{
	for (;;)
		(void)pause();
	return context;
}

/* libfuse ends its io_uring threads by pthread_cancel. At the first use of pthread_cancel, the C
 * library loads libgcc_s, and aborts the process if that fails. So libgcc_s is loaded at the start,
 * before memory can be short. The confinement permits this only with io_uring (base/confine.c).
 */
static void prepare_to_cancel(void)
{
	pthread_t thread;

	if (thread_start(&thread, wait_to_be_cancelled, NULL) < 0)
		return;
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

/* Runs libfuse's own loop, which ends its io_uring threads. As the session has ended, the loop does
 * nothing else. */
static void end_io_uring(struct fuse_session *fuse)
{
	fuse_session_exit(fuse);
	(void)fuse_session_loop(fuse);
}

static bool begin(struct loop *loop, struct fuse_session *fuse)
{
	bool ending;

	pthread_mutex_lock(&loop->lock);
	ending = loop->ending;
	loop->fuse = ending ? NULL : fuse;
	pthread_mutex_unlock(&loop->lock);
	return !ending;
}

static void end(struct loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	loop->fuse = NULL;
	pthread_cond_broadcast(&loop->changed);
	pthread_mutex_unlock(&loop->lock);
}

static void wake(int signal)
{
	(void)signal; /* the signal only interrupts system calls */
}

int loop_run(struct loop *loop, struct fuse_session *fuse, unsigned int threads)
{
	/* no SA_RESTART: interrupts system calls */
	const struct sigaction action = {.sa_handler = wake};
	struct sigaction before;
	int r;

	if (!begin(loop, fuse))
		return 0;
	r = sigaction(WAKE_SIGNAL, &action, &before) < 0 ? -errno : 0;
	if (r == 0) {
		if (loop->rings)
			prepare_to_cancel();
		r = start_workers(loop, threads);
		wait_for_workers(loop);
		if (loop->rings)
			end_io_uring(fuse);
		(void)sigaction(WAKE_SIGNAL, &before, NULL);
	}
	end(loop);
	return r < 0 ? r : loop->result;
}

void loop_stop(struct loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	loop->ending = true;
	pthread_cond_broadcast(&loop->changed);
	if (loop->fuse)
		fuse_session_exit(loop->fuse);
	while (loop->fuse)
		pthread_cond_wait(&loop->changed, &loop->lock);
	pthread_mutex_unlock(&loop->lock);
}

/* ---- buffers for replies ------------------------------------------------------------ */

/* Minimum size, so that buffers of listings can be reused for reads. */
#define SIZE_MIN (128U << 10)

void buffers_init(struct buffers *buffers)
{
	*buffers = (struct buffers){.count = 0};
	pthread_mutex_init(&buffers->lock, NULL);
}

void buffers_deinit(struct buffers *buffers)
{
	for (size_t i = 0; i < buffers->count; i++)
		free(buffers->idle[i].data);
	pthread_mutex_destroy(&buffers->lock);
}

struct buffer buffers_take(struct buffers *buffers, size_t size)
{
	struct buffer buffer = {0};

	if (size < SIZE_MIN)
		size = SIZE_MIN;
	pthread_mutex_lock(&buffers->lock);
	if (buffers->count)
		buffer = buffers->idle[--buffers->count];
	pthread_mutex_unlock(&buffers->lock);
	if (buffer.size >= size)
		return buffer;
	free(buffer.data);
	buffer.data = memory_pages(size);
	buffer.size = buffer.data ? size : 0;
	return buffer;
}

void buffers_return(struct buffers *buffers, struct buffer buffer)
{
	pthread_mutex_lock(&buffers->lock);
	if (buffer.data && buffers->count < BUFFERS_MAX) {
		buffers->idle[buffers->count++] = buffer;
		buffer.data = NULL;
	}
	pthread_mutex_unlock(&buffers->lock);
	free(buffer.data);
}
