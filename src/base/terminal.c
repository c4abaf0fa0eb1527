/* SPDX-License-Identifier: MIT */
#include "base/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

unsigned int terminal_width(int fd)
{
	int saved = errno;
	struct winsize size;
	unsigned int width = 0;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0)
		width = size.ws_col > 0 ? size.ws_col : TERMINAL_WIDTH_DEFAULT;
	errno = saved;
	return width;
}

bool terminal_redraws(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment */
	const char *name = getenv("TERM");

	return name && name[0] != '\0' && strcmp(name, "dumb") != 0;
}

bool terminal_is_foreground(int fd)
{
	int saved = errno;
	pid_t foreground = tcgetpgrp(fd);

	errno = saved;
	/* tcgetpgrp() fails if fd is not the terminal of the session of this process, as for a
	 * daemon
	 */
	return foreground < 0 || foreground == getpgrp();
}
