/* SPDX-License-Identifier: MIT */

/* Preloaded into twinfs, adds 2^63 to the inode number of every regular file, as a file system can
 * have that makes the numbers from a hash. It is built with the same size of off_t as twinfs, so
 * that it defines the functions that twinfs calls. */

#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TOP_BIT (UINT64_C(1) << 63)

int statx(int directory, const char *path, int flags, unsigned int mask, struct statx *status)
{
	int r = (int)syscall(SYS_statx, directory, path, flags, mask, status);

	if (r == 0 && S_ISREG(status->stx_mode))
		status->stx_ino |= TOP_BIT;
	return r;
}

int fstatat(int directory, const char *path, struct stat *status, int flags)
{
	int r = (int)syscall(SYS_newfstatat, directory, path, status, flags);

	if (r == 0 && S_ISREG(status->st_mode))
		status->st_ino |= TOP_BIT;
	return r;
}

int fstat(int fd, struct stat *status)
{
	return fstatat(fd, "", status, AT_EMPTY_PATH);
}
