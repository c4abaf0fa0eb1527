/* SPDX-License-Identifier: MIT */
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/kernel.h"

uint64_t descriptors_max(void)
{
	struct rlimit limit;

	(void)getrlimit(RLIMIT_NOFILE, &limit); /* fails only for bad arguments */
	return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

/* Set if the kernel or a sandbox does not support openat2. */
static atomic_bool openat2_missing;

/* Set if openat2 failed with EPERM although no filter forbids it. Without the right to use
 * O_NOATIME, each open fails so. */
static atomic_bool openat2_unfiltered;

static bool openat2_is_filtered(void)
{
	if (atomic_load_explicit(&openat2_unfiltered, memory_order_relaxed))
		return false;
	if (system_call_is_filtered(SYS_openat2))
		return true;
	atomic_store(&openat2_unfiltered, true);
	return false;
}

/* Returns true if a walk of the path can leave the directory. The kernel then checks each step
 * under locks of all mounts, which a single name does not need. */
static bool can_leave(const char *path)
{
	return strchr(path, '/') || strcmp(path, "..") == 0;
}

static int open_by_openat2(int directory, const char *path, int flags, bool cross_mounts)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)flags,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd;
	int attempts = 0;

	if (can_leave(path))
		how.resolve |= RESOLVE_BENEATH;
	if (!cross_mounts)
		how.resolve |= RESOLVE_NO_XDEV;
	do /* EAGAIN: a concurrent rename disturbed the check for "beneath" */
		fd = syscall(SYS_openat2, directory, path, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || (errno == EAGAIN && ++attempts < 100)));
	if (fd >= 0)
		return (int)fd;
	if (errno == EPERM && openat2_is_filtered())
		errno = ENOSYS;
	if (errno == ENOSYS)
		atomic_store(&openat2_missing, true);
	return -errno;
}

int open_followed(int directory, const char *name)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
	long fd = -1;

	errno = ENOSYS;
	if (!atomic_load(&openat2_missing))
		fd = syscall(SYS_openat2, directory, name, &how, sizeof(how));
	if (fd < 0 && errno == ENOSYS)
		fd = openat(directory, name, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

/* Compares mount numbers, if the kernel reports them: on an overlay the device of a file differs
 * from that of its directory. */
static bool same_mount(int a, int b)
{
	struct statx sa, sb;

	if (statx(a, "", AT_EMPTY_PATH, STATX_MNT_ID, &sa) < 0 ||
	    statx(b, "", AT_EMPTY_PATH, STATX_MNT_ID, &sb) < 0)
		return false;
	if (sa.stx_mask & sb.stx_mask & STATX_MNT_ID)
		return sa.stx_mnt_id == sb.stx_mnt_id;
	return sa.stx_dev_major == sb.stx_dev_major && sa.stx_dev_minor == sb.stx_dev_minor;
}

bool can_rename_between(int a, int b)
{
	struct stat one, other;

	return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
	       same_mount(a, b);
}

int ascend(int *directory)
{
	int parent = openat(*directory, "..", O_PATH | O_DIRECTORY | O_CLOEXEC), r;
	struct stat here, above;

	if (parent < 0)
		return -errno;
	r = fstat(*directory, &here) < 0 || fstat(parent, &above) < 0
		    ? -errno
		    : !is_same_inode(&here, &above);
	close(*directory);
	*directory = parent;
	return r;
}

int find_within(int directory, const struct stat *above, bool *within)
{
	AUTO_CLOSE int fd = openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat here;
	int r = fd < 0 ? -errno : 1;

	*within = false;
	while (r > 0) {
		if (fstat(fd, &here) < 0)
			return -errno;
		*within = is_same_inode(&here, above);
		r = *within ? 0 : ascend(&fd);
	}
	return r;
}

int read_link(int directory, const char *name, char target[static PATH_MAX])
{
	ssize_t length = readlinkat(directory, name, target, PATH_MAX);

	if (length < 0)
		return -errno;
	if (length == PATH_MAX)
		return -ENAMETOOLONG;
	target[length] = '\0';
	return 0;
}

bool is_symlink(int directory, const char *name)
{
	struct stat st;

	return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

bool name_exists(int directory, const char *name)
{
	struct stat st;

	return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Opens one component without openat2. */
static int open_component(int directory, const char *name, int flags, bool cross_mounts)
{
	int fd = openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (cross_mounts || same_mount(directory, fd))
		return fd;
	close(fd);
	return -EXDEV;
}

/* Returns the slash at which to split a path that must be opened in several calls, or NULL if one
 * call suffices. With openat2, a path is split before PATH_MAX; without openat2, after each
 * component. */
static const char *next_split(const char *path, bool by_component)
{
	if (by_component)
		return strchr(path, '/');
	return strnlen(path, PATH_MAX) == PATH_MAX ? memrchr(path, '/', PATH_MAX - 1) : NULL;
}

static int open_piece(int directory, const char *path, int flags, bool cross_mounts,
		      bool by_component)
{
	return by_component ? open_component(directory, path, flags, cross_mounts)
			    : open_by_openat2(directory, path, flags, cross_mounts);
}

/* Opens the directory named by the first length bytes of path. */
static int open_parent(int directory, const char *path, size_t length, bool cross_mounts,
		       bool by_component)
{
	char piece[PATH_MAX];
	int fd;

	if (length >= sizeof(piece))
		return -ENAMETOOLONG;
	memcpy(piece, path, length);
	piece[length] = '\0';
	fd = open_piece(directory, piece, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
			cross_mounts, by_component);
	if (fd == -ENOTDIR && is_symlink(directory, piece))
		return -ELOOP; /* like openat2 with the whole path */
	return fd;
}

static int open_piecewise(int directory, const char *path, int flags, bool cross_mounts,
			  bool by_component)
{
	const char *split;
	int at = directory, next;

	for (;;) {
		split = next_split(path, by_component);
		if (split)
			next = open_parent(at, path, (size_t)(split - path), cross_mounts,
					   by_component);
		else
			next = open_piece(at, path, flags, cross_mounts, by_component);
		if (at != directory)
			close(at);
		if (next < 0 || !split)
			return next;
		at = next;
		path = split + 1;
	}
}

int open_beneath(int directory, const char *path, int flags, bool cross_mounts)
{
	bool by_component = atomic_load_explicit(&openat2_missing, memory_order_relaxed);
	int fd;

	if (!*path)
		path = ".";
	flags |= O_CLOEXEC | O_NOFOLLOW;
	fd = open_piecewise(directory, path, flags, cross_mounts, by_component);
	if (fd == -ENOSYS && !by_component)
		fd = open_piecewise(directory, path, flags, cross_mounts, true);
	return fd;
}

int open_beneath_for_reading(int directory, const char *path, int flags, bool cross_mounts)
{
	int fd;

	flags |= O_RDONLY | O_NONBLOCK | O_NOCTTY;
	fd = open_beneath(directory, path, flags | O_NOATIME, cross_mounts);
	if (fd == -EPERM) /* not the owner */
		fd = open_beneath(directory, path, flags, cross_mounts);
	return fd;
}

struct fd_path fd_path(int fd)
{
	struct fd_path path;

	(void)snprintf(path.text, sizeof(path.text), "/proc/self/fd/%d", fd);
	return path;
}

/* Returns whether fsync(2) failed as the file system is only read, as squashfs and erofs are. */
static bool has_nothing_to_sync(int fd, int error)
{
	struct statvfs status;

	return error == EROFS ||
	       (error == EINVAL && fstatvfs(fd, &status) == 0 && status.f_flag & ST_RDONLY);
}

int sync_directory(int directory)
{
	AUTO_CLOSE int fd = open_beneath(directory, "", O_RDONLY | O_DIRECTORY, true);

	if (fd < 0)
		return fd;
	return fsync(fd) < 0 && !has_nothing_to_sync(fd, errno) ? -errno : 0;
}

ssize_t read_fully_at(int fd, void *buffer, size_t length, off_t offset)
{
	size_t done = 0;
	ssize_t got;

	while (done < length) {
		got = pread(fd, (char *)buffer + done, length - done, offset + (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

struct data_range data_range_at(int fd, off_t at, off_t end)
{
	struct data_range range = {.from = lseek(fd, at, SEEK_DATA), .to = -1};

	if (range.from < 0)
		range.from = errno == ENXIO ? end : at;
	if (range.from > end)
		range.from = end;
	if (range.from < end)
		range.to = lseek(fd, range.from, SEEK_HOLE);
	if (range.to <= range.from || range.to > end)
		range.to = end;
	return range;
}

int write_fully(int fd, const void *data, unsigned long length)
{
	const char *at = data;
	ssize_t put;

	while (length > 0) {
		put = write(fd, at, length);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		at += put;
		length -= (unsigned long)put;
	}
	return 0;
}

int directory_read(int fd, directory_visitor *visitor, void *context)
{
	AUTO_CLOSEDIR DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int r = 0;

	if (fd < 0)
		return fd;
	if (!stream) {
		r = -errno;
		(void)close(fd);
		return r;
	}
	while (r == 0) {
		errno = 0;
		entry = readdir(stream); /* NOLINT(concurrency-mt-unsafe): the stream is local */
		if (!entry)
			return -errno;
		if (!is_dots(entry->d_name))
			r = visitor(context, fd, entry);
	}
	return r;
}

int directory_visit(int directory, directory_visitor *visitor, void *context)
{
	return directory_read(open_beneath_for_reading(directory, "", O_DIRECTORY, true), visitor,
			      context);
}

static int refuse_other(void *ignored, int directory, const struct dirent *entry)
{
	(void)directory;
	return ignored && strcmp(entry->d_name, ignored) == 0 ? 0 : -ENOTEMPTY;
}

int directory_check_empty(int directory, const char *ignored)
{
	return directory_visit(directory, refuse_other, (void *)(uintptr_t)ignored);
}

static int remove_file(void *context, int directory, const struct dirent *entry)
{
	(void)context;
	return unlinkat(directory, entry->d_name, 0) < 0 ? -errno : 0;
}

int directory_remove_files(int directory)
{
	return directory_visit(directory, remove_file, NULL);
}
