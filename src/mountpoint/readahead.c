/* SPDX-License-Identifier: MIT */
#include "mountpoint/readahead.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/descriptor.h"
#include "base/log.h"

/* Returns 0 or -errno. */
static int raise_at(const char *path, unsigned int size_kib)
{
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC);
	char text[32] = "";
	ssize_t length;

	if (fd < 0)
		return -errno;
	length = pread(fd, text, sizeof(text) - 1, 0);
	if (length < 0)
		return -errno;
	if (strtoul(text, NULL, 10) >= size_kib)
		return 0;
	(void)snprintf(text, sizeof(text), "%u\n", size_kib);
	return write_fully(fd, text, strlen(text));
}

void readahead_raise(dev_t device, unsigned int size_kib)
{
	char path[64];
	int r;

	(void)snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb", major(device),
		       minor(device));
	r = raise_at(path, size_kib);
	if (r < 0)
		log_debug("cannot write to %s: %s; reading ahead less", path, error_text(r));
}
