/* SPDX-License-Identifier: MIT */
#include "cli/replaced_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/descriptor.h"

/* As a shell makes a file; the umask takes from it. */
#define NEW_MODE (S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH)

/* Where a path leads to, for the caller to free, and the permissions of what is there (mode 0:
 * nothing). */
static int find_target(const char *path, char **target, mode_t *mode)
{
	struct stat status;

	*mode = 0;
	if (stat(path, &status) < 0) {
		*target = errno == ENOENT ? strdup(path) : NULL;
		return *target ? 0 : -errno;
	}
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	*mode = status.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
	*target = realpath(path, NULL);
	return *target ? 0 : -errno;
}

/* For mkostemp(3), in the same folder; a name may be as long as names can be. */
static char *name_beside(const char *target)
{
	const char *slash = strrchr(target, '/');
	int folder = slash ? (int)(slash + 1 - target) : 0;
	char *name;

	return asprintf(&name, "%.*s.twinfs-XXXXXX", folder, target) < 0 ? NULL : name;
}

static mode_t new_mode(void)
{
	mode_t mask = umask(0);

	(void)umask(mask);
	return NEW_MODE & ~mask;
}

static int write_to(int fd, const struct bytes *content, mode_t mode)
{
	int r = write_fully(fd, content->data, content->length);

	if (r == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0))
		r = -errno;
	return r;
}

int replaced_file_write(const char *path, const struct bytes *content)
{
	AUTO_FREE char *temporary = NULL;
	AUTO_FREE char *target = NULL;
	AUTO_CLOSE int fd = -1;
	mode_t mode;
	int r = find_target(path, &target, &mode);

	if (r < 0)
		return r;
	assert(target != NULL);
	temporary = name_beside(target);
	if (!temporary)
		return -ENOMEM;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = write_to(fd, content, mode != 0 ? mode : new_mode());
	if (r == 0 && rename(temporary, target) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(temporary);
	return r;
}
