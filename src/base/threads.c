/* SPDX-License-Identifier: MIT */
#include "base/threads.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/thread.h"

#define THREADS_MAX 64

/* Measured with a first scan of 138,994 files on two processors, a virtual disk and a cold cache.
 * It took 15.3 s with 2 threads, 8.6 s with 8 and 7.0 s with 16. With a warm cache the number of
 * threads makes no difference. */
#define READERS_MIN 8

unsigned int threads_that_compute(void)
{
	cpu_set_t set;
	int count = 1;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		count = CPU_COUNT(&set);
	return count > THREADS_MAX ? THREADS_MAX : (unsigned int)count;
}

unsigned int threads_that_read(void)
{
	unsigned int count = threads_that_compute();

	return count < READERS_MIN ? READERS_MIN : count;
}

int threads_run(unsigned int count, void *(*body)(void *), void *context)
{
	pthread_t threads[THREADS_MAX];
	unsigned int started = 0;

	if (count == 0 || count > THREADS_MAX)
		return -EINVAL;
	while (started < count - 1 && thread_start(&threads[started], body, context) == 0)
		started++;
	body(context);
	while (started > 0)
		pthread_join(threads[--started], NULL);
	return 0;
}
