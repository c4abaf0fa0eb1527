/* SPDX-License-Identifier: MIT */
#ifndef STORE_FILE_MODE_H
#define STORE_FILE_MODE_H

/* Files of an index, which are for their owner alone. Only catalog/ includes this. Any thread. */

#include <errno.h>
#include <sys/stat.h>

#include "base/attributes.h"

#define PRIVATE_FILE_MODE (S_IRUSR | S_IWUSR)

/* Makes it so, whatever it was before. One that is needs no chmod(2), which a daemon has given up
 * (base/confine.h). 0 or -errno. */
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
