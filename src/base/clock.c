/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

struct timespec clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now;
}

uint64_t clock_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void clock_sleep_ms(unsigned int milliseconds)
{
	struct timespec pause = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};

	nanosleep(&pause, NULL);
}
