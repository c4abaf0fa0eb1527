/* SPDX-License-Identifier: MIT */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

/* Threads that block signals, so that the threads that wait for signals receive them; groups of
 * threads; and waits with a timeout. Any thread may call these functions. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "base/clock.h"

/* Starts a thread like pthread_create(3), with all signals blocked except those of its own faults,
 * and with a stack of a fixed size. Returns 0 or -errno. */
MUST_CHECK int thread_start(pthread_t *thread, void *(*run)(void *context), void *context);

/* Initializes a condition for timed_wait(), which has its deadline on CLOCK_MONOTONIC. */
static inline void timed_wait_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

static inline struct timespec timed_until(uint64_t until_ns)
{
	return (struct timespec){.tv_sec = (time_t)(until_ns / SECOND_NS),
				 .tv_nsec = (long)(until_ns % SECOND_NS)};
}

/* Locks like pthread_mutex_lock(3), with a timeout. If the wall clock is set back meanwhile, the
 * timeout is longer. Returns false if the timeout expired. Does not use pthread_mutex_clocklock(3),
 * which ThreadSanitizer of GCC 12 does not know. */
static inline bool timed_lock(pthread_mutex_t *lock, uint64_t nanoseconds)
{
	const struct timespec until = timed_until((uint64_t)clock_ns(clock_now()) + nanoseconds);

	return pthread_mutex_timedlock(lock, &until) == 0;
}

/* Waits like pthread_cond_wait(3), at most until this time of clock_monotonic_ns(). UINT64_MAX: no
 * limit. */
static inline void timed_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns)
{
	const struct timespec until = timed_until(until_ns);

	if (until_ns == UINT64_MAX)
		pthread_cond_wait(condition, lock);
	else
		pthread_cond_timedwait(condition, lock, &until);
}

/* ---- groups of threads ------------------------------------------------------------- */

/* Runs body(context) in count threads, including the calling thread, and waits for all of them. If
 * threads cannot be started, uses fewer. Returns 0, or -EINVAL if count is 0 or above 64. */
MUST_CHECK int threads_run(unsigned int count, void *(*body)(void *), void *context);

/* Returns the number of processors that this process may use, at most 64. */
unsigned int threads_that_compute(void);

/* Returns the number of threads, from 1 to count, that should work with open files. If the process
 * may open few files, more threads would often have no descriptor. */
unsigned int threads_with_files(unsigned int count);

/* Returns the number of threads that read files, as threads_with_files() does. On few processors
 * this number is larger than the number of processors. Reading threads mostly wait for the disk,
 * and the disk is fastest with several requests. */
unsigned int threads_that_read(void);

#endif
