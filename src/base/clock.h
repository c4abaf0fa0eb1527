/* SPDX-License-Identifier: MIT */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* Clocks. Any thread. */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Nanoseconds in a millisecond and in a second. */
#define MS_NS INT64_C(1000000)
#define SECOND_NS INT64_C(1000000000)

/* Returns the wall-clock time, which is also used for the times of files. */
struct timespec clock_now(void);

static inline bool clock_equal(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Converts a time to nanoseconds since 1970. Times out of range become the lowest or highest
 * value. */
int64_t clock_ns(struct timespec time);

/* Returns the time of CLOCK_MONOTONIC, which never jumps, in nanoseconds. */
uint64_t clock_monotonic_ns(void);

/* Sleeps. A signal that this thread handles ends the sleep early. */
void clock_sleep_ms(unsigned int milliseconds);

#endif
