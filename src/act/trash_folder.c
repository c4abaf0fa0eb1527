/* SPDX-License-Identifier: MIT */
#include "act/trash_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/system_call.h"

static bool is_own(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

/* Makes a missing directory, with access for the effective user only. Returns 0 or -errno. */
static int make_folder(int parent, const char *name)
{
	if (mkdirat(parent, name, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	return sync_directory(parent);
}

/* Opens a directory, which must belong to the effective user. Returns a descriptor or -errno.
 *
 * flags	O_NOFOLLOW or 0
 */
static int open_existing(int parent, const char *name, int flags)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);

	if (fd < 0)
		return -errno;
	if (is_own(fd))
		return fd;
	close(fd);
	return -EPERM;
}

/* Opens the directory that would contain a missing one, if it can take it. */
static int open_parent(int parent, const char *name)
{
	const char *slash = strrchr(name, '/');
	AUTO_FREE char *path = slash ? strndup(name, (size_t)(slash - name) + 1) : strdup(".");
	int fd = path ? openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd < 0)
		return path ? -errno : -ENOMEM;
	if (access_effective(fd, ".", W_OK | X_OK) == 0)
		return fd;
	close(fd);
	return -EACCES;
}

/* Opens a directory like open_existing(). If it is missing, makes it first. If trash only looks,
 * opens its parent instead, provided that the parent can take it. */
static int open_own(const struct trash_folder *trash, int parent, const char *name, int flags)
{
	int r = trash->only_looks ? 0 : make_folder(parent, name);

	if (r == 0)
		r = open_existing(parent, name, flags);
	return r == -ENOENT && trash->only_looks ? open_parent(parent, name) : r;
}

/* ---- the home trash ------------------------------------------------------------------ */

/* Opens a directory from the environment. The directory must belong to the effective user, so root
 * with the HOME of another user has no home trash. */
static int open_named(const char *path)
{
	return path && *path == '/' ? open_existing(AT_FDCWD, path, 0) : -ENOENT;
}

/* Opens ~/.local/share, and makes it if it is missing. */
static int open_default_data(struct trash_folder *trash)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no thread sets the environment */
	const char *home = getenv("HOME");
	AUTO_CLOSE int directory = open_named(home);
	AUTO_CLOSE int local = directory < 0 ? -1 : open_own(trash, directory, ".local", 0);

	if (directory < 0)
		return directory;
	if (local < 0)
		return local;
	return bytes_format(&trash->path, "%s/.local/share", home) < 0
		       ? -ENOMEM
		       : open_own(trash, local, "share", 0);
}

static int open_data(struct trash_folder *trash)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no thread sets the environment */
	const char *data = getenv("XDG_DATA_HOME");

	if (!data || *data != '/')
		return open_default_data(trash);
	return bytes_append_text(&trash->path, data) < 0 ? -ENOMEM
							 : open_own(trash, AT_FDCWD, data, 0);
}

/* Opens the home trash if a file can be renamed from the directory to it. */
static int open_home_trash(struct trash_folder *trash, int directory, const char *absolute)
{
	AUTO_CLOSE int data = open_data(trash);
	int r;

	if (data < 0)
		return data;
	if (!can_rename_between(data, directory))
		return -EXDEV;
	r = bytes_append_text(&trash->path, "/Trash");
	if (r == 0)
		r = bytes_append_text(&trash->original, absolute);
	return r < 0 ? r : open_own(trash, data, "Trash", 0);
}

/* ---- trash of a mount ---------------------------------------------------------------- */

/* Opens the root directory of the mount that contains a directory. Sets *levels to the number of
 * levels between both. Returns -EXDEV if the topmost directory is not the root of a mount, as in an
 * unmounted subvolume. No desktop searches a subvolume for a trash. */
static int open_top(int directory, size_t *levels)
{
	int top = openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (*levels = 0; top >= 0; ++*levels) {
		int above = openat(top, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		struct stat here, there;
		struct statx status;

		if (above >= 0 && can_rename_between(top, above) && fstat(top, &here) == 0 &&
		    fstat(above, &there) == 0 && !is_same_inode(&here, &there)) {
			close(top);
			top = above;
			continue;
		}
		if (above >= 0)
			close(above);
		if (above >= 0 && statx(top, "", AT_EMPTY_PATH, 0, &status) == 0 &&
		    (status.stx_attributes & STATX_ATTR_MOUNT_ROOT ||
		     !(status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT)))
			return top;
		close(top);
		return -EXDEV;
	}
	return -errno;
}

/* Splits the absolute path of a file at a directory.
 *
 * levels	number of levels of that directory above the directory of the file
 */
static int split_path(struct trash_folder *trash, const char *absolute, size_t levels)
{
	size_t end = strlen(absolute);
	int r;

	for (size_t i = 0; i <= levels; i++) {
		do {
			if (end == 0)
				return -ENOENT;
			end--;
		} while (absolute[end] != '/');
	}
	r = bytes_append(&trash->path, absolute, end);
	return r < 0 ? r : bytes_append_text(&trash->original, absolute + end + 1);
}

/* Opens .Trash/UID. .Trash must exist, must be sticky and must not be a symlink. */
static int open_shared_trash(const struct trash_folder *trash, int top, const char *user)
{
	AUTO_CLOSE int shared =
		openat(top, ".Trash", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (shared < 0)
		return -errno;
	if (fstat(shared, &status) < 0 || !(status.st_mode & S_ISVTX))
		return -EPERM;
	return open_own(trash, shared, user, O_NOFOLLOW);
}

static int open_mount_trash(struct trash_folder *trash, int directory, const char *absolute)
{
	char name[sizeof(".Trash-") + 3 * sizeof(uid_t)];
	size_t levels;
	AUTO_CLOSE int top = open_top(directory, &levels);
	int r, fd;

	if (top < 0)
		return top;
	(void)snprintf(name, sizeof(name), ".Trash-%u", geteuid());
	r = split_path(trash, absolute, levels);
	if (r < 0)
		return r;
	fd = open_shared_trash(trash, top, name + strlen(".Trash-"));
	if (fd >= 0)
		name[strlen(".Trash")] = '/';
	else
		fd = open_own(trash, top, name, O_NOFOLLOW);
	r = bytes_format(&trash->path, "/%s", name);
	if (r == 0 || fd < 0)
		return fd;
	close(fd);
	return r;
}

/* ---- both ---------------------------------------------------------------------------- */

static int open_parts(struct trash_folder *trash, int folder, int directory)
{
	if (folder < 0)
		return folder;
	trash->info = open_own(trash, folder, "info", O_NOFOLLOW);
	trash->files = open_own(trash, folder, "files", O_NOFOLLOW);
	if (trash->info < 0 || trash->files < 0)
		return -EPERM;
	return can_rename_between(trash->files, directory) ? 0 : -EXDEV;
}

void trash_folder_close(struct trash_folder *trash)
{
	if (trash->info >= 0)
		close(trash->info);
	if (trash->files >= 0)
		close(trash->files);
	bytes_free(&trash->path);
	bytes_free(&trash->original);
	trash->info = trash->files = -1;
}

static int try_open(struct trash_folder *trash, int directory, const char *absolute,
		    int (*open_folder)(struct trash_folder *, int, const char *))
{
	AUTO_CLOSE int folder = -1;
	int r;

	trash->info = trash->files = -1;
	folder = open_folder(trash, directory, absolute);
	r = open_parts(trash, folder, directory);
	if (r < 0)
		trash_folder_close(trash);
	return r;
}

int trash_folder_open(struct trash_folder *trash, const struct place *place, const char *absolute)
{
	int r = try_open(trash, place->directory, absolute, open_home_trash);

	if (r < 0 && r != -ENOMEM)
		r = try_open(trash, place->directory, absolute, open_mount_trash);
	return r < 0 && r != -ENOMEM ? TRASH_FOLDER_NONE : r;
}
