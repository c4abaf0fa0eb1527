/* SPDX-License-Identifier: MIT */
#include "catalog/index_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "twinfs/format.h"

static const char *const file_names[] = {
	TWINFS_INDEX_DATA, TWINFS_INDEX_READERS, TWINFS_INDEX_LOCK, TWINFS_INDEX_SEAL,
	TWINFS_INDEX_IDS,  TWINFS_INDEX_BOOT,    TWINFS_INDEX_ACTS, TWINFS_INDEX_DAMAGED,
};

static bool is_own(const struct stat *status)
{
	return status->st_uid == geteuid() && !S_ISLNK(status->st_mode);
}

static int examine_files(int folder_fd)
{
	struct stat status;

	for (size_t i = 0; i < ARRAY_SIZE(file_names); i++) {
		if (fstatat(folder_fd, file_names[i], &status, AT_SYMLINK_NOFOLLOW) == 0) {
			if (!is_own(&status))
				return -EPERM;
		} else if (errno != ENOENT) {
			return -errno;
		}
	}
	return 0;
}

/* Takes the right to write from the group and from others. No user can write to a folder on a
 * read-only file system, whatever its mode. */
static int make_unwritable(int folder_fd, const struct stat *status)
{
	if (!(status->st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	if (fchmod(folder_fd, status->st_mode & 07777 & ~(mode_t)(S_IWGRP | S_IWOTH)) < 0)
		return errno == EROFS ? 0 : -errno;
	return 0;
}

static int examine_folder(int folder_fd)
{
	struct stat status;
	int r;

	if (fstat(folder_fd, &status) < 0)
		return -errno;
	if (!is_own(&status))
		return -EPERM;
	r = make_unwritable(folder_fd, &status);
	return r < 0 ? r : examine_files(folder_fd);
}

static bool is_symbolic_link(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

int index_folder_open(const char *folder, int *fd)
{
	int opened = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r;

	*fd = -1;
	if (opened < 0) {
		r = -errno;
		/* Linux reports a link here as ENOTDIR, as it does a file. */
		return (r == -ENOTDIR || r == -ELOOP) && is_symbolic_link(folder) ? -EPERM : r;
	}
	r = examine_folder(opened);
	if (r < 0)
		(void)close(opened);
	else
		*fd = opened;
	return r;
}
