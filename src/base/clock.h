/* SPDX-License-Identifier: MIT */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* Clocks. Any thread. */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"

/* Nanoseconds in a millisecond and in a second. */
#define MS_NS INT64_C(1000000)
#define SECOND_NS INT64_C(1000000000)

/* Returns the wall-clock time, which is also used for the times of files. */
struct timespec clock_now(void);

static inline bool clock_is_earlier(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

/* Returns a negative number if a is earlier, a positive one if b is, or 0. */
static inline int clock_compare(struct timespec a, struct timespec b)
{
	return clock_is_earlier(a, b) ? -1 : clock_is_earlier(b, a);
}

static inline bool clock_equal(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static inline struct timespec clock_latest(struct timespec a, struct timespec b)
{
	return clock_is_earlier(a, b) ? b : a;
}

/* Returns now, or the nanosecond after last if now is not later: the clock was set back. */
static inline struct timespec clock_after(struct timespec now, struct timespec last)
{
	if (clock_is_earlier(last, now))
		return now;
	if (last.tv_nsec + 1 < SECOND_NS)
		return (struct timespec){last.tv_sec, last.tv_nsec + 1};
	return (struct timespec){last.tv_sec + 1, 0};
}

/* Converts a time to nanoseconds since 1970. Times out of range become the lowest or highest
 * value. */
int64_t clock_ns(struct timespec time);

/* Buffer size for the functions below, including the NUL. */
#define CLOCK_TEXT_MAX sizeof("-2147483648-12-31 23:59:59 +2359")

/* Formats a time as "2026-11-26 02:27:01 +0100" in the local time zone, for people. Returns text,
 * which is "an unknown time" if the time is zero or out of range. */
const char *clock_format_local(char text[static CLOCK_TEXT_MAX], struct timespec time);

/* Formats a time as "2026-11-26T01:27:01Z" (RFC 3339). Returns 0 or -EOVERFLOW. */
MUST_CHECK int clock_format_utc(char text[static CLOCK_TEXT_MAX], struct timespec time);

/* Formats a time with milliseconds: "2026-11-26T01:27:01.042Z". Returns 0 or -EOVERFLOW. */
MUST_CHECK int clock_format_utc_ms(char text[static CLOCK_TEXT_MAX], struct timespec time);

/* Returns the time that the kernel gives to changes of files now, in nanoseconds since 1970. It
 * lags behind clock_now() by at most one tick. */
int64_t clock_file_ns(void);

/* Returns the time of CLOCK_MONOTONIC, which never jumps, in nanoseconds. */
uint64_t clock_monotonic_ns(void);

/* Returns the seconds since this boot, with those in which the machine was suspended. */
uint64_t clock_boottime_s(void);

/* Sleeps. A signal that this thread handles ends the sleep early. */
void clock_sleep_ms(unsigned int milliseconds);

#endif
