/* SPDX-License-Identifier: MIT */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* Times. Any thread. */

#include <stdint.h>
#include <time.h>

/* Nanoseconds in a millisecond and in a second. */
#define MS_NS INT64_C(1000000)
#define SECOND_NS INT64_C(1000000000)

/* Wall-clock time, as files are stamped with. */
struct timespec clock_now(void);

/* The same in nanoseconds since 1970; those that do not fit are the last or the first that do. */
int64_t clock_ns(struct timespec time);

/* Nanoseconds of a clock that never jumps. */
uint64_t clock_monotonic_ns(void);

void clock_sleep_ms(unsigned int milliseconds);

#endif
