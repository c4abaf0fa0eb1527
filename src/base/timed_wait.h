/* SPDX-License-Identifier: MIT */
#ifndef BASE_TIMED_WAIT_H
#define BASE_TIMED_WAIT_H

/* Conditions that are waited for with a limit on the clock that never jumps (base/clock.h). */

#include <pthread.h>
#include <stdint.h>
#include <time.h>

static inline void timed_wait_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(condition, &attributes);
	(void)pthread_condattr_destroy(&attributes);
}

/* As pthread_cond_wait, until this time of clock_monotonic_ns() at the latest; UINT64_MAX: without
 * limit. */
static inline void timed_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns)
{
	struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
				 .tv_nsec = (long)(until_ns % 1000000000)};

	if (until_ns == UINT64_MAX)
		(void)pthread_cond_wait(condition, lock);
	else
		(void)pthread_cond_timedwait(condition, lock, &until);
}

#endif
