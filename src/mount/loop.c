/* SPDX-License-Identifier: MIT */
#include "mount/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/timed_wait.h"

/* What the kernel wants room for: the data, and a page with what stands before it. */
#define REQUEST_SIZE_MAX (LOOP_DATA_MAX + 4096)

/* Wakes a worker that waits for a request. */
#define WAKE_SIGNAL SIGUSR2
#define WAKE_INTERVAL_NS (20 * MS_NS)

/* How long memory that is short is waited for. */
#define SHORT_OF_MEMORY_MS 20

int loop_init(struct loop *loop)
{
	int r;

	*loop = (struct loop){.fuse = NULL};
	r = -pthread_mutex_init(&loop->lock, NULL);
	if (r < 0)
		return r;
	timed_wait_init(&loop->changed);
	(void)sem_init(&loop->needed, 0, 0);
	return 0;
}

void loop_deinit(struct loop *loop)
{
	(void)sem_destroy(&loop->needed);
	pthread_mutex_destroy(&loop->lock);
	pthread_cond_destroy(&loop->changed);
}

/* ---- a worker ------------------------------------------------------------------------ */

/* What it says of a request that could not be read: 0 to go on, 1 at the end, -errno. */
static int judge_failure(int error)
{
	switch (error) {
	case EINTR:
	case ENOENT: /* who asked has been interrupted */
	case EAGAIN:
		return 0;
	case ENOMEM:
	case EFAULT: /* for a page of the buffer */
		clock_sleep_ms(SHORT_OF_MEMORY_MS);
		return 0;
	case ENODEV: /* unmounted, or aborted */
		return 1;
	default:
		return -error;
	}
}

/* The kernel gives requests to all who wait in turn, and a few threads whose memory is in the caches
 * are faster than many: another one takes part only when all others have something to do. */
static void let_in_another(struct loop *loop)
{
	unsigned int parked = atomic_load(&loop->parked);

	while (parked > 0 && !atomic_compare_exchange_weak(&loop->parked, &parked, parked - 1))
		;
	if (parked == 0)
		return;
	atomic_fetch_add(&loop->free, 1);
	(void)sem_post(&loop->needed);
}

static void process(struct loop *loop, const struct fuse_buf *request)
{
	if (atomic_fetch_sub(&loop->free, 1) == 1)
		let_in_another(loop);
	fuse_session_process_buf(loop->fuse, request);
	atomic_fetch_add(&loop->free, 1);
}

static int answer_requests(struct loop *loop, char *memory)
{
	int r = 0;

	while (r == 0 && !fuse_session_exited(loop->fuse)) {
		ssize_t length = read(fuse_session_fd(loop->fuse), memory, REQUEST_SIZE_MAX);
		const struct fuse_buf request = {.mem = memory, .size = (size_t)length};

		if (length < 0)
			r = judge_failure(errno);
		else if (length == 0)
			r = -EIO; /* not from the kernel */
		else
			process(loop, &request);
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

/* Answers requests until the session ends; then the other workers end, too. */
static void *work(void *context)
{
	struct worker *worker = context;
	struct loop *loop = worker->loop;
	int r = 0;

	unblock_wake_signal();
	while (sem_wait(&loop->needed) < 0 && !fuse_session_exited(loop->fuse))
		; /* a signal */
	r = answer_requests(loop, worker->memory);
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

/* ---- all of them --------------------------------------------------------------------- */

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
	let_in_another(loop);
	return loop->count > 0 ? 0 : r;
}

/* A worker looks whether it shall end, then waits: a signal that comes between the two is lost, so
 * it is sent until all have ended. */
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

/* libfuse ends the threads of its rings by pthread_cancel, for which the C library loads another
 * one the first time, and ends the process where that fails: so that is now, not when memory is
 * short. */
static void prepare_to_cancel(void)
{
	pthread_t thread;

	if (thread_start(&thread, wait_to_be_cancelled, NULL) < 0)
		return;
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

/* libfuse's own loop ends what it has for rings, and does nothing else when the session ended. */
static void end_rings(struct fuse_session *fuse)
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
	(void)signal; /* that it came has interrupted a system call */
}

int loop_run(struct loop *loop, struct fuse_session *fuse, unsigned int threads)
{
	const struct sigaction action = {.sa_handler = wake}; /* interrupts system calls */
	struct sigaction before;
	int r;

	if (!begin(loop, fuse))
		return 0;
	r = sigaction(WAKE_SIGNAL, &action, &before) < 0 ? -errno : 0;
	if (r == 0) {
		if (RINGS_KNOWN)
			prepare_to_cancel();
		r = start_workers(loop, threads);
		wait_for_workers(loop);
		if (RINGS_KNOWN)
			end_rings(fuse);
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
