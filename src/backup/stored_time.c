/* SPDX-License-Identifier: MIT */
#include "backup/stored_time.h"

#include <stdint.h>

#include "base/clock.h"

bool stored_time_equals(struct timespec wanted, struct timespec found)
{
	for (int64_t kept_ns = 1; kept_ns <= SECOND_NS; kept_ns *= 10) {
		if (wanted.tv_sec == found.tv_sec &&
		    wanted.tv_nsec - wanted.tv_nsec % kept_ns == found.tv_nsec)
			return true;
	}
	return found.tv_nsec == 0 && found.tv_sec == (wanted.tv_sec & ~(time_t)1);
}
