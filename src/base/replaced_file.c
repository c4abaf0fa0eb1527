/* SPDX-License-Identifier: MIT */
#include "base/replaced_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/descriptor.h"

/* The mode of a new file, as a shell would make it; reduced by the umask. */
#define NEW_MODE (S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH)

/* Finds the file that a path leads to. The caller frees *target. st_nlink of *replaced is 0 if the
 * file does not exist.
 */
static int find_target(const char *path, char **target, struct stat *replaced)
{
	if (stat(path, replaced) < 0) {
		struct stat link;
		int r = -errno;

		*replaced = (struct stat){0};
		/* a dangling symlink is not replaced */
		if (r != -ENOENT || lstat(path, &link) == 0)
			return r;
		*target = strdup(path);
		return *target ? 0 : -ENOMEM;
	}
	if (!S_ISREG(replaced->st_mode))
		return -EINVAL;
	*target = realpath(path, NULL);
	return *target ? 0 : -errno;
}

/* Returns a template for mkostemp(3) in the same folder. The template does not contain the name of
 * the target, which can already have the maximum length.
 */
static char *temporary_name(const char *target)
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

/* Sets the owner and permissions of the replaced file. */
static int copy_ownership(int fd, const struct stat *replaced)
{
	mode_t mode = replaced->st_nlink > 0 ? replaced->st_mode & (S_IRWXU | S_IRWXG | S_IRWXO)
					     : new_mode();

	/* EPERM is ignored: only root can change the owner */
	if (replaced->st_nlink > 0 && fchown(fd, replaced->st_uid, replaced->st_gid) < 0 &&
	    errno != EPERM)
		return -errno;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

static int write_to(int fd, const struct bytes *content, const struct stat *replaced)
{
	int r = write_fully(fd, content->data, content->length);

	if (r == 0)
		r = copy_ownership(fd, replaced);
	return r == 0 && fsync(fd) < 0 ? -errno : r;
}

int replaced_file_write(const char *path, const struct bytes *content)
{
	AUTO_FREE char *temporary = NULL;
	AUTO_FREE char *target = NULL;
	AUTO_CLOSE int fd = -1;
	struct stat replaced;
	int r = find_target(path, &target, &replaced);

	if (r < 0)
		return r;
	assert(target);
	temporary = temporary_name(target);
	if (!temporary)
		return -ENOMEM;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = write_to(fd, content, &replaced);
	if (r == 0 && rename(temporary, target) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(temporary);
	return r;
}
