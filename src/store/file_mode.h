/* SPDX-License-Identifier: MIT */
#ifndef STORE_FILE_MODE_H
#define STORE_FILE_MODE_H

/* Modes of the files of an index, which only their owner may access. Any thread. */

#include <errno.h>
#include <sys/stat.h>

#include "base/attributes.h"

#define PRIVATE_FILE_MODE (S_IRUSR | S_IWUSR)

/* Makes a file accessible only to its owner. Does not call chmod(2) if the mode is already right,
 * because a confined daemon may not call it (base/confine.h). Returns 0 or -errno. */
MUST_CHECK static inline int make_private(int folder_fd, const char *name)
{
	struct stat status;

	if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if ((status.st_mode & ALLPERMS) == PRIVATE_FILE_MODE)
		return 0;
	return fchmodat(folder_fd, name, PRIVATE_FILE_MODE, 0) < 0 ? -errno : 0;
}

#endif
