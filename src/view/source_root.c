/* SPDX-License-Identifier: MIT */
#include "view/source_root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/mountinfo.h"

int source_root_find(struct source_root *root, const struct source *source)
{
	*root = (struct source_root){.path = source->path};
	if (source->missing || source->fd < 0)
		return -EACCES;
	root->mounts[0] = mountinfo_of(source->fd);
	root->count = root->mounts[0] != 0;
	return 0;
}

void source_root_add_parents(struct source_root *root)
{
	uint64_t mount = root->count > 0 ? root->mounts[0] : 0;

	while (mount != 0 && root->count < ARRAY_SIZE(root->mounts)) {
		/* in some namespaces the topmost mount is its own parent */
		if (mountinfo_parent("/proc/self/mountinfo", mount, &mount) < 0 ||
		    mount == root->mounts[root->count - 1])
			return;
		if (mount != 0)
			root->mounts[root->count++] = mount;
	}
}

static bool can_enter(const struct source_root *root, uint64_t mount)
{
	for (size_t i = 0; i < root->count; i++) {
		if (root->mounts[i] == mount)
			return true;
	}
	return root->count == 0;
}

/* Opens a directory in a directory, if its mount can be entered. */
static int open_next(const struct source_root *root, int at, const char *path, size_t length)
{
	char name[NAME_MAX + 1];
	uint64_t mount;
	int next;

	if (length >= sizeof(name))
		return -ENAMETOOLONG;
	memcpy(name, path, length);
	name[length] = '\0';
	next = open_beneath(at, name, O_PATH | O_DIRECTORY, true);
	if (next < 0)
		return next;
	mount = mountinfo_of(next);
	if (can_enter(root, mount) || mount == mountinfo_of(at))
		return next;
	(void)close(next);
	return -EXDEV;
}

/* Opens the path directory by directory. Takes at. */
static int open_by_component(const struct source_root *root, int at)
{
	const char *path = root->path + 1;

	while (at >= 0 && *path) {
		size_t length = strcspn(path, "/");
		int next = open_next(root, at, path, length);

		(void)close(at);
		at = next;
		path += length + (path[length] != '\0');
	}
	return at;
}

int source_root_open(const struct source_root *root)
{
	int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	if (top < 0)
		return -errno;
	fd = open_beneath(top, root->path + 1, O_PATH | O_DIRECTORY, root->count == 0);
	if (fd == -EXDEV)
		return open_by_component(root, top);
	(void)close(top);
	return fd;
}
