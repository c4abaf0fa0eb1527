/* SPDX-License-Identifier: MIT */
#include "mount/nudge.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/descriptor.h"
#include "mountpoint/prerequisites.h"

bool nudge_is_possible(void)
{
	/* known since Linux 5.12; a container may refuse it */
	return mount_setattr(-1, "", 0, NULL, 0) < 0 && errno == EINVAL;
}

/* ---- the way ------------------------------------------------------------------------- */

/* A mount of the same file system that nobody else sees, and that is not read-only. */
static int open_own_mount(const char *point)
{
	struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_RDONLY};
	int fd = open_tree(AT_FDCWD, point, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	if (mount_setattr(fd, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) == 0)
		return fd;
	r = -errno;
	(void)close(fd);
	return r;
}

/* Makes the file system of a mount of ours one that is not read-only. */
static int make_writable(int root)
{
	AUTO_CLOSE int context = fspick(root, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC);

	if (context < 0 || fsconfig(context, FSCONFIG_SET_FLAG, "rw", NULL, 0) < 0 ||
	    fsconfig(context, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
		return -errno;
	return 0;
}

static int open_seen_mount(const char *point)
{
	int fd = open(point, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int nudge_open(struct nudge_way *way, const char *point, dev_t device)
{
	struct stat status;
	int r = 0;

	way->root = mount_is_privileged() ? open_own_mount(point) : open_seen_mount(point);
	if (way->root < 0)
		return way->root;
	if (fstat(way->root, &status) < 0)
		r = -errno;
	else if (status.st_dev != device)
		r = -ESTALE;
	if (r == 0 && !way->opened && mount_is_privileged()) {
		r = make_writable(way->root);
		way->opened = r == 0;
	}
	if (r < 0)
		nudge_close(way);
	return r;
}

static void close_folder(struct nudge_way *way)
{
	if (way->folder >= 0)
		(void)close(way->folder);
	way->folder = -1;
}

void nudge_close(struct nudge_way *way)
{
	close_folder(way);
	if (way->root >= 0)
		(void)close(way->root);
	way->root = -1;
}

/* ---- changes ------------------------------------------------------------------------- */

/* Opens the folder unless it was the last one. */
static int enter(struct nudge_way *way, const struct nudge *nudge)
{
	struct stat status;
	int fd;

	if (way->folder >= 0 && way->inode == nudge->folder)
		return 0;
	close_folder(way);
	fd = open_beneath(way->root, nudge->path, O_PATH | O_DIRECTORY, false);
	if (fd < 0)
		return fd;
	way->folder = fd;
	way->inode = nudge->folder;
	if (fstat(fd, &status) == 0 && status.st_ino == nudge->folder)
		return 0;
	close_folder(way);
	return -ESTALE;
}

static int change(int folder, const struct nudge *nudge)
{
	/* of any kind: nobody asks the daemon for what came before it is looked up again */
	const mode_t file = S_IFREG | S_IRUSR;

	switch (nudge->kind) {
	case NUDGE_CAME:
		return nudge->directory ? mkdirat(folder, nudge->name, S_IRWXU)
					: mknodat(folder, nudge->name, file, 0);
	case NUDGE_WENT:
		return unlinkat(folder, nudge->name, nudge->directory ? AT_REMOVEDIR : 0);
	case NUDGE_CHANGED:
		return utimensat(folder, nudge->name, NULL, AT_SYMLINK_NOFOLLOW);
	}
	return 0;
}

int nudge_make(struct nudge_way *way, const struct nudge *nudge)
{
	/* who tells us so reads what anybody may have put into a source, and we may be root */
	bool inside = !strchr(nudge->name, '/') && !is_dots(nudge->name);
	int r = inside ? enter(way, nudge) : -EINVAL;

	if (r == 0 && change(way->folder, nudge) < 0)
		r = -errno;
	return r;
}
