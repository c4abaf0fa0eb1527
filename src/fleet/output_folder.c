/* SPDX-License-Identifier: MIT */
#include "fleet/output_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/descriptor.h"
#include "base/kernel.h"

/* Syncs the name of a new folder. */
static int sync_name(int folder)
{
	AUTO_CLOSE int parent = openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = parent < 0 ? -errno : sync_directory(parent);

	/* a parent that only can be searched and written to cannot be synced */
	return r == -EACCES ? 0 : r;
}

int output_folder_open(const char *path, bool *made)
{
	int fd, r = 0;

	*made = mkdir(path, 0700) == 0;
	if (!*made && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (*made)
		r = sync_name(fd);
	if (r == 0 && access_effective(fd, ".", W_OK | X_OK) < 0)
		r = -errno;
	if (r == 0)
		return fd;
	(void)close(fd);
	return r;
}

const char *output_folder_remedy(int error)
{
	switch (-error) {
	case ENOSPC:
	case EDQUOT:
		return "free space there, or give --output=DIR another folder";
	case ENOENT:
		return "make the folder above it first";
	case EACCES:
	case ENOTDIR:
	case EPERM:
	case EROFS:
		return "give --output=DIR another folder";
	default:
		return NULL;
	}
}
