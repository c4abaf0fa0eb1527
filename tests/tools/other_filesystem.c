/* SPDX-License-Identifier: MIT */

/* Preloaded into twinfs, makes every file system one of the type whose number (f_type of statfs(2))
 * OTHER_FILESYSTEM says, in hexadecimal digits. Built with the size of off_t that twinfs is built
 * with, it has the name that twinfs calls. */

#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

int fstatfs(int fd, struct statfs *answer)
{
	const char *type = getenv("OTHER_FILESYSTEM");
	int r = (int)syscall(SYS_fstatfs, fd, answer);

	if (r == 0 && type)
		answer->f_type = (__fsword_t)strtoul(type, NULL, 16);
	return r;
}
