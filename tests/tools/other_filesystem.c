/* SPDX-License-Identifier: MIT */

/* Preloaded into twinfs, changes the type of every file system (f_type of statfs(2)) to the
 * hexadecimal number OTHER_FILESYSTEM. If OTHER_FILESYSTEM_OF_FILES is set, only the type for
 * regular files changes; folders, such as that of the index, keep their type. If OTHER_CTIME is set,
 * the ctime of a file is its mtime and as many seconds, 0 as on sshfs and exfat-fuse. It is built
 * with the same size of off_t as twinfs, so that it defines the functions that twinfs calls. */

#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool is_meant(int fd)
{
	struct stat status;

	return !getenv("OTHER_FILESYSTEM_OF_FILES") ||
	       (fstat(fd, &status) == 0 && S_ISREG(status.st_mode));
}

int fstatfs(int fd, struct statfs *answer)
{
	const char *type = getenv("OTHER_FILESYSTEM");
	int r = (int)syscall(SYS_fstatfs, fd, answer);

	if (r == 0 && type && is_meant(fd))
		answer->f_type = (__typeof__(answer->f_type))strtoul(type, NULL, 16);
	return r;
}

int statx(int dir, const char *restrict path, int flags, unsigned int mask,
	  struct statx *restrict answer)
{
	const char *seconds = getenv("OTHER_CTIME");
	int r = (int)syscall(SYS_statx, dir, path, flags, mask, answer);

	if (r == 0 && seconds) {
		answer->stx_ctime = answer->stx_mtime;
		answer->stx_ctime.tv_sec += atoi(seconds);
	}
	return r;
}
