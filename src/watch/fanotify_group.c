/* SPDX-License-Identifier: MIT */
#include "watch/fanotify_group.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/filesystem_kind.h"

/* FAN_RENAME reports the old and the new name in one event, so no rename is split. */
#define EVENTS                                                                              \
	(FAN_CREATE | FAN_DELETE | FAN_RENAME | FAN_MODIFY | FAN_CLOSE_WRITE | FAN_ATTRIB | \
	 FAN_ONDIR)

/* This flag of Linux 6.5 is missing in older headers. It also gives handles that identify a file,
 * but cannot be opened. */
#ifndef AT_HANDLE_FID
#define AT_HANDLE_FID AT_REMOVEDIR
#endif

static int mark(struct fanotify_group *group, int fd)
{
	struct fanotify_filesystem *filesystem = &group->filesystem;
	struct fanotify_handle_buffer handle;
	struct statfs statistics;
	struct stat status;

	/* fanotify reports the directory of a layer, which changes when the kernel copies the
	 * directory to the upper layer */
	if (filesystem_has_layers_at(fd))
		return -EOPNOTSUPP;
	if (fanotify_mark(group->fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, EVENTS, fd, ".") < 0)
		return errno == ENODEV || errno == EXDEV ? -EOPNOTSUPP : -errno;
	if (fstat(fd, &status) < 0 || fstatfs(fd, &statistics) < 0)
		return -errno;
	filesystem->device = status.st_dev;
	memcpy(filesystem->id, &statistics.f_fsid, sizeof(filesystem->id));
	return fanotify_group_handle(group, fd, &handle);
}

int fanotify_group_open(struct fanotify_group *group, int fd)
{
	int r;

	/* the queue is bounded: FAN_UNLIMITED_QUEUE could take all memory */
	group->fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK |
					  FAN_REPORT_DFID_NAME_TARGET,
				  0);
	if (group->fd < 0)
		return -errno;
	r = mark(group, fd);
	if (r < 0)
		fanotify_group_close(group);
	return r;
}

void fanotify_group_close(struct fanotify_group *group)
{
	if (group->fd >= 0)
		(void)close(group->fd);
	group->fd = -1;
}

/* Calls name_to_handle_at(2). Returns 0 or -errno. */
static int get_handle(int fd, struct file_handle *handle)
{
	int mount;

	if (name_to_handle_at(fd, "", handle, &mount, AT_EMPTY_PATH | AT_HANDLE_FID) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	/* a kernel without this flag */
	return name_to_handle_at(fd, "", handle, &mount, AT_EMPTY_PATH) == 0 ? 0 : -errno;
}

int fanotify_group_handle(const struct fanotify_group *group, int fd,
			  struct fanotify_handle_buffer *handle)
{
	union {
		struct file_handle handle;
		char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} found = {.handle.handle_bytes = MAX_HANDLE_SZ};
	struct stat status;
	size_t length;
	int r;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISDIR(status.st_mode))
		return -ENOTDIR;
	if (status.st_dev != group->filesystem.device)
		return -EXDEV;
	r = get_handle(fd, &found.handle);
	if (r < 0)
		return r;
	memcpy(handle->bytes, group->filesystem.id, sizeof(group->filesystem.id));
	length = sizeof(found.handle) + found.handle.handle_bytes;
	memcpy(handle->bytes + sizeof(group->filesystem.id), found.bytes, length);
	handle->length = sizeof(group->filesystem.id) + length;
	return 0;
}
