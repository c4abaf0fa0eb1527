/* SPDX-License-Identifier: MIT */
#ifndef BASE_STORED_TIME_H
#define BASE_STORED_TIME_H

#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "base/attributes.h"

/* Returns whether the mtime of a file is the wanted time as its file system stores it. File systems
 * round down: to 100 ns (NTFS), 10 ms (exFAT), one or two seconds (FAT). They round the ctime as
 * well, so a time is not rounded if the ctime has more digits. Pure. */
bool stored_time_equals(struct timespec wanted, const struct stat *found);

/* Sets the mtime of a file, as utimensat(2) with these arguments, and keeps its atime. File systems
 * that use libfuse 2 ignore without an error that only one of both is set; they get both. Fills
 * *now with the status after that. Returns 0 or -errno. */
MUST_CHECK int stored_time_set(int directory, const char *path, int flags, struct timespec mtime,
			       struct stat *now);

#endif
