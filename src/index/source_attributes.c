/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/timed_call.h"
#include "index/source.h"

#define STATX_WANTED (STATX_BASIC_STATS | STATX_BTIME)
/* How long a mount may take to say what file system it has, before it counts as silent. */
#define ANSWER_TIMEOUT_MS 1000

static struct timespec to_timespec(struct statx_timestamp time)
{
	return (struct timespec){.tv_sec = time.tv_sec, .tv_nsec = time.tv_nsec};
}

static void from_statx(const struct statx *stx, struct attributes *a)
{
	*a = (struct attributes){
		.inode = stx->stx_ino,
		.size = stx->stx_size,
		.blocks = stx->stx_blocks,
		.rdev = makedev(stx->stx_rdev_major, stx->stx_rdev_minor),
		.mode = stx->stx_mode,
		.uid = stx->stx_uid,
		.gid = stx->stx_gid,
		.links = stx->stx_nlink,
		.encrypted = (stx->stx_attributes & STATX_ATTR_ENCRYPTED) != 0,
		.mtime = to_timespec(stx->stx_mtime),
		.ctime = to_timespec(stx->stx_ctime),
		.atime = to_timespec(stx->stx_atime),
	};
	if (stx->stx_mask & STATX_BTIME)
		a->btime = to_timespec(stx->stx_btime);
}

static int examine(int fd, const char *name, int flags, struct statx *stx)
{
	/* AT_EMPTY_PATH is faster without AT_SYMLINK_NOFOLLOW: with both, the kernel looks up a
	 * name
	 */
	if (!(flags & AT_EMPTY_PATH))
		flags |= AT_SYMLINK_NOFOLLOW;
	flags |= AT_NO_AUTOMOUNT;
	return statx(fd, name, flags, STATX_WANTED, stx) < 0 ? -errno : 0;
}

int source_attributes(struct catalog *catalog, int fd, struct attributes *attributes)
{
	struct statx stx;
	int r = examine(fd, "", AT_EMPTY_PATH, &stx);

	if (r < 0)
		return r;
	from_statx(&stx, attributes);
	return catalog_filesystem(catalog, fd, makedev(stx.stx_dev_major, stx.stx_dev_minor),
				  &attributes->filesystem);
}

/* A name in an open directory that is on another file system than the directory. */
struct other_filesystem {
	int dir_fd;
	const char *name;
};

static int open_name_at(const struct other_filesystem *other)
{
	int fd = openat(other->dir_fd, other->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Runs in a child process. */
static int ask_filesystem(void *context)
{
	AUTO_CLOSE int fd = open_name_at(context);
	struct statfs figures;

	return fd < 0 ? fd : fstatfs(fd, &figures) < 0 ? -errno : 0;
}

/* Gets the number of a file system that this process has not met. Its identity can be read only
 * from a descriptor on it: from the directory above, its number would depend on the order in which
 * a process meets the file systems. A confined daemon cannot fork, so it does not wait for a child
 * process first. Leaves the number 0 if the file system does not answer, or was unmounted
 * meanwhile. */
static int number_other(struct catalog *catalog, struct other_filesystem *other, bool mount_root,
			struct attributes *attributes)
{
	AUTO_CLOSE int fd = -1;
	struct attributes now;
	int r;

	if (mount_root && call_with_timeout(ask_filesystem, other, other->dir_fd,
					    ANSWER_TIMEOUT_MS) == -ETIMEDOUT)
		return 0;
	fd = open_name_at(other);
	if (fd < 0)
		return fd == -ENOENT ? fd : 0;
	r = source_attributes(catalog, fd, &now);
	if (r == 0 && now.inode == attributes->inode)
		attributes->filesystem = now.filesystem;
	return r;
}

int source_attributes_at(struct catalog *catalog, int dir_fd, const char *name, unsigned int flags,
			 struct attributes *attributes)
{
	struct other_filesystem other = {dir_fd, name};
	struct stat above;
	struct statx stx;
	int r = examine(dir_fd, name, AT_STATX_DONT_SYNC, &stx);
	bool mount_root = r == 0 && stx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	dev_t device;

	if (r == 0 && flags & SOURCE_REMOTE && !mount_root)
		r = examine(dir_fd, name, AT_STATX_SYNC_AS_STAT, &stx);
	if (r < 0)
		return r;
	from_statx(&stx, attributes);
	device = makedev(stx.stx_dev_major, stx.stx_dev_minor);
	if (!catalog_knows_filesystem(catalog, device, &attributes->filesystem)) {
		if (fstat(dir_fd, &above) < 0)
			return -errno;
		if (above.st_dev == device)
			r = catalog_filesystem(catalog, dir_fd, device, &attributes->filesystem);
		else if (!mount_root || flags & SOURCE_ENTERS_MOUNTS)
			r = number_other(catalog, &other, mount_root, attributes);
	}
	return r == 0 && mount_root ? SOURCE_MOUNT_ROOT : r;
}
