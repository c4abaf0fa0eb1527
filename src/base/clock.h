/* SPDX-License-Identifier: MIT */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* Times. Any thread. */

#include <stdint.h>
#include <time.h>

/* Wall-clock time, as files are stamped with. */
struct timespec clock_now(void);

/* Nanoseconds of a clock that never jumps. */
uint64_t clock_monotonic_ns(void);

void clock_sleep_ms(unsigned int milliseconds);

#endif
