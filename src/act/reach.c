/* SPDX-License-Identifier: MIT */
#include "act/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/filesystem_kind.h"

#define SEARCH_BITS (S_IXUSR | S_IXGRP | S_IXOTH)

/* A folder on a path. */
struct step {
	struct stat status;
	struct bytes acl; /* empty: none */
};

/* The folders from a directory up to the root. */
struct steps {
	struct step *list;
	size_t count, capacity;
};

static void steps_free(struct steps *steps)
{
	for (size_t i = 0; i < steps->count; i++)
		bytes_free(&steps->list[i].acl);
	free(steps->list);
}

static int read_acl(int fd, struct bytes *acl)
{
	static const char name[] = "system.posix_acl_access";
	struct fd_path path = fd_path(fd);
	AUTO_FREE char *value = malloc(XATTR_SIZE_MAX);
	ssize_t size;

	if (!value)
		return -ENOMEM;
	size = getxattr(path.text, name, value, XATTR_SIZE_MAX);
	if (size < 0)
		return errno == ENODATA || errno == EOPNOTSUPP ? 0 : -errno;
	return bytes_append(acl, value, (size_t)size);
}

static int add_step(struct steps *steps, int fd)
{
	struct step *step;
	int r = array_reserve(&steps->list, &steps->capacity, steps->count + 1,
			      sizeof(*steps->list));

	if (r < 0)
		return r;
	step = &steps->list[steps->count++];
	*step = (struct step){0};
	return fstat(fd, &step->status) < 0 ? -errno : read_acl(fd, &step->acl);
}

static int find_steps(struct steps *steps, int directory)
{
	AUTO_CLOSE int fd = openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? -errno : 1;

	while (r > 0) {
		r = add_step(steps, fd);
		if (r == 0)
			r = ascend(&fd);
	}
	return r;
}

/* Returns whether a folder is certain to admit all users that another folder admits. */
static bool admits_users_of(const struct step *step, const struct step *other)
{
	unsigned int bits = step->status.st_mode & SEARCH_BITS;
	unsigned int others = other->status.st_mode & SEARCH_BITS;

	return (bits & others) == others && step->status.st_uid == other->status.st_uid &&
	       step->status.st_gid == other->status.st_gid &&
	       bytes_compare(&step->acl, &other->acl) == 0;
}

static bool is_passed_by_all(const struct step *step, const struct steps *from)
{
	if ((step->status.st_mode & SEARCH_BITS) == SEARCH_BITS && step->acl.length == 0)
		return true;
	for (size_t i = 0; i < from->count; i++) {
		if (admits_users_of(step, &from->list[i]))
			return true;
	}
	return false;
}

/* Returns whether the kernel forbids other users to follow symlinks of the effective user in the
 * folder. */
static bool is_protected(const struct stat *folder)
{
	return folder->st_mode & S_ISVTX && folder->st_mode & S_IWOTH &&
	       folder->st_uid != geteuid();
}

static int compare_steps(int from, int to, struct steps *above_from, struct steps *above_to)
{
	int r = find_steps(above_from, from);

	if (r == 0)
		r = find_steps(above_to, to);
	if (r < 0)
		return r;
	if (!above_from->list || !above_to->list || is_protected(&above_from->list[0].status))
		return 0;
	if (above_from->list[0].status.st_dev != above_to->list[0].status.st_dev &&
	    is_remote_filesystem(to))
		return 0;
	for (size_t i = 0; i < above_to->count; i++) {
		if (!is_passed_by_all(&above_to->list[i], above_from))
			return 0;
	}
	return 1;
}

int reach_includes(int from, int to)
{
	CLEANUP(steps_free) struct steps above_from = {0}, above_to = {0};

	return compare_steps(from, to, &above_from, &above_to);
}
