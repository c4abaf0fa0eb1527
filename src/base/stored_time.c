/* SPDX-License-Identifier: MIT */
#include "base/stored_time.h"

#include <errno.h>
#include <fcntl.h>
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

static int set_times(int directory, const char *path, int flags, const struct timespec *times,
		     struct stat *now)
{
	return utimensat(directory, path, times, flags) < 0 ||
			       fstatat(directory, path, now, flags) < 0
		       ? -errno
		       : 0;
}

int stored_time_set(int directory, const char *path, int flags, struct timespec mtime,
		    struct stat *now)
{
	struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, mtime};
	int r = set_times(directory, path, flags, times, now);

	if (r < 0 || stored_time_equals(mtime, now))
		return r;
	times[0] = now->st_atim;
	return set_times(directory, path, flags, times, now);
}
