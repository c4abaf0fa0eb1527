/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct timespec clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now;
}

int64_t clock_ns(struct timespec time)
{
	int64_t ns;

	if (__builtin_mul_overflow(time.tv_sec, SECOND_NS, &ns) ||
	    __builtin_add_overflow(ns, time.tv_nsec, &ns))
		return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

const char *clock_format_local(char text[static CLOCK_TEXT_MAX], struct timespec time)
{
	struct tm parts;

	if (time.tv_sec == 0 || !localtime_r(&time.tv_sec, &parts) ||
	    strftime(text, CLOCK_TEXT_MAX, "%Y-%m-%d %H:%M:%S %z", &parts) == 0)
		(void)snprintf(text, CLOCK_TEXT_MAX, "an unknown time");
	return text;
}

int clock_format_utc(char text[static CLOCK_TEXT_MAX], struct timespec time)
{
	struct tm parts;

	if (!gmtime_r(&time.tv_sec, &parts) ||
	    strftime(text, CLOCK_TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		return -EOVERFLOW;
	return 0;
}

int clock_format_utc_ms(char text[static CLOCK_TEXT_MAX], struct timespec time)
{
	int r = clock_format_utc(text, time);
	size_t length = r == 0 ? strlen(text) - 1 : 0; /* without the Z */

	if (r == 0)
		(void)snprintf(text + length, CLOCK_TEXT_MAX - length, ".%03uZ",
			       (unsigned int)(time.tv_nsec / MS_NS) % 1000);
	return r;
}

int64_t clock_file_ns(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return clock_ns(now);
}

uint64_t clock_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

uint64_t clock_boottime_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec;
}

void clock_sleep_ms(unsigned int milliseconds)
{
	struct timespec pause = {milliseconds / 1000, (milliseconds % 1000) * MS_NS};

	nanosleep(&pause, NULL);
}
