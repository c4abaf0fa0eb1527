/* SPDX-License-Identifier: MIT */

/* Preloaded into twinfs, makes every file system one of the type whose number (f_type of statfs(2))
 * OTHER_FILESYSTEM says, in hexadecimal digits; where OTHER_FILESYSTEM_OF_FILES is set, for who
 * asks by a file, so that folders, as that of the index, are where they are. Built with the size of
 * off_t that twinfs is built with, it has the name that twinfs calls. */

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
		answer->f_type = (__fsword_t)strtoul(type, NULL, 16);
	return r;
}
