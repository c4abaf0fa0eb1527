/* SPDX-License-Identifier: MIT */

/* Preloaded into twinfs, makes every file system one without leases, as NFS and CIFS are: there
 * fcntl(2) refuses F_SETLEASE with EINVAL. Built with the size of off_t that twinfs is built with, it
 * has the name that twinfs calls. */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

int fcntl(int fd, int command, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, command);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	if (command == F_SETLEASE) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_fcntl, fd, command, argument);
}
