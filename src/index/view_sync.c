/* SPDX-License-Identifier: MIT */
#include "index/view_sync.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/bytes.h"

int view_sync(const char *mount_point)
{
	CLEANUP_BYTES struct bytes path = {0};
	AUTO_CLOSE int fd = -1;
	char generation[32];
	int r = bytes_format(&path, "%s/.twinfs/sync", mount_point);

	if (r < 0 || !bytes_text(&path))
		return -ENOMEM;
	fd = open(bytes_text(&path), O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, generation, sizeof(generation)) < 0)
		return -errno;
	return 0;
}
