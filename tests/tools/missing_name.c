/* SPDX-License-Identifier: MIT */

/* Preloaded into twinfs, makes the name MISSING_NAME missing for statx(2) in all folders, which
 * still list it, as a broken file system can do. If MISSING_REMOVED is set, the name is deleted at
 * this moment instead. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int statx(int dir, const char *restrict path, int flags, unsigned int mask,
	  struct statx *restrict status)
{
	const char *missing = getenv("MISSING_NAME");

	if (!missing || strcmp(path, missing) != 0)
		return (int)syscall(SYS_statx, dir, path, flags, mask, status);
	if (getenv("MISSING_REMOVED"))
		unlinkat(dir, path, 0);
	errno = ENOENT;
	return -1;
}
