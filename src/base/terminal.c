/* SPDX-License-Identifier: MIT */
#include "base/terminal.h"

#include <errno.h>
#include <sys/ioctl.h>

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
