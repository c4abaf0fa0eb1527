/* SPDX-License-Identifier: MIT */
#include "base/stored_time.h"

#include <stdint.h>

#include "base/clock.h"

bool stored_time_equals(struct timespec wanted, const struct stat *found)
{
	struct timespec mtime = found->st_mtim;

	for (int64_t kept_ns = 1; kept_ns <= SECOND_NS; kept_ns *= 10) {
		if (found->st_ctim.tv_nsec % kept_ns != 0)
			return false;
		if (wanted.tv_sec == mtime.tv_sec &&
		    wanted.tv_nsec - wanted.tv_nsec % kept_ns == mtime.tv_nsec)
			return true;
	}
	return mtime.tv_nsec == 0 && mtime.tv_sec == (wanted.tv_sec & ~(time_t)1);
}
