/* SPDX-License-Identifier: MIT */
#include "act/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/confine.h"
#include "base/descriptor.h"
#include "catalog/filesystem.h"

int place_open_below(struct place *place, int root, const char *path, bool cross_mounts)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *parent = slash ? strndup(path, (size_t)(slash - path)) : strdup("");

	place->directory = -1;
	place->name = slash ? slash + 1 : path;
	if (!parent)
		return -ENOMEM;
	place->directory = open_beneath(root, parent, O_PATH | O_DIRECTORY, cross_mounts);
	return place->directory < 0 ? place->directory : 0;
}

int place_open(struct place *place, const struct sources *sources, uint32_t source,
	       const char *path)
{
	place->directory = -1;
	if (source >= sources->count || sources->list[source].missing ||
	    sources->list[source].fd < 0)
		return -ENODEV;
	return place_open_below(place, sources->list[source].fd, path, sources->cross_mounts);
}

int place_open_parent(struct place *there, const char *to)
{
	const char *slash = to ? strrchr(to, '/') : NULL;
	AUTO_FREE char *folder = slash ? strndup(to, (size_t)(slash - to)) : NULL;

	*there = (struct place){.directory = -1, .name = slash ? slash + 1 : ""};
	if (!folder)
		return slash ? -ENOMEM : -ENOENT;
	there->directory = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return there->directory < 0 ? -errno : 0;
}

static bool is_same_directory(int a, int b)
{
	struct stat one, other;

	return fstat(a, &one) == 0 && fstat(b, &other) == 0 && is_same_inode(&one, &other);
}

static bool source_is_at_its_path(const struct source *source)
{
	AUTO_CLOSE int now = open(source->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return now >= 0 && is_same_directory(now, source->fd);
}

bool place_is_at(const struct place *place, const struct sources *sources, uint32_t source,
		 const char *path)
{
	struct place now;
	bool is_there;

	if (place_open(&now, sources, source, path) < 0)
		return false;
	is_there = is_same_directory(now.directory, place->directory) &&
		   source_is_at_its_path(&sources->list[source]);
	place_close(&now);
	return is_there;
}

void place_close(struct place *place)
{
	if (place->directory >= 0)
		close(place->directory);
	place->directory = -1;
}

int64_t place_born_ns(const struct statx *status)
{
	struct timespec born = {status->stx_btime.tv_sec, status->stx_btime.tv_nsec};

	return status->stx_mask & STATX_BTIME ? clock_ns(born) : 0;
}

struct root_identity place_identify_root(int root)
{
	struct root_identity identity = {.filesystem = filesystem_lasting_identity(root)};
	struct statx status;

	if (statx(root, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) == 0) {
		identity.inode = status.stx_ino;
		identity.born_ns = place_born_ns(&status);
	}
	return identity;
}

static bool is_same_root(const struct root_identity *known, struct root_identity now)
{
	if (known->filesystem && now.filesystem && known->filesystem != now.filesystem)
		return false;
	return !known->inode || (known->inode == now.inode && known->born_ns == now.born_ns);
}

int place_open_root(const char *path, const struct root_identity *identity)
{
	int root = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (root < 0)
		return -errno;
	if (is_same_root(identity, place_identify_root(root)))
		return root;
	close(root);
	return -ENODEV;
}

static bool is_mount_root(int directory)
{
	struct statx status;

	return statx(directory, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, 0, &status) == 0 &&
	       status.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

int place_find_mount(int directory, struct bytes *path, struct root_identity *root)
{
	AUTO_CLOSE int fd = openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char there[PATH_MAX];
	ssize_t length;
	int r = fd < 0 ? -errno : 1;

	path->length = 0;
	/* the root directory of the process need not be the root of a mount */
	while (r > 0 && !is_mount_root(fd))
		r = ascend(&fd);
	if (r < 0)
		return r;
	*root = place_identify_root(fd);
	length = readlink(fd_path(fd).text, there, sizeof(there));
	if (length < 0)
		return -errno;
	if ((size_t)length == sizeof(there))
		return -ENAMETOOLONG;
	return bytes_append(path, there, (size_t)length);
}

bool place_is_mounted(const struct mount_identity *mount)
{
	AUTO_CLOSE int root = mount->path ? place_open_root(mount->path, &mount->root) : -1;

	return !mount->path || root >= 0;
}

bool place_is_inode(const struct statx *status, uint64_t inode, int64_t born_ns)
{
	int64_t born_now_ns = place_born_ns(status);

	return status->stx_ino == inode && (!born_ns || !born_now_ns || born_ns == born_now_ns);
}

bool place_leads_to(const struct place *place, const char *name, const struct stat *inode)
{
	struct stat there;

	return fstatat(place->directory, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       is_same_inode(&there, inode);
}

bool place_is_symlink_to(const struct place *place, const char *name, const char *target)
{
	char there[PATH_MAX];
	ssize_t length = readlinkat(place->directory, name, there, sizeof(there));

	return length >= 0 && (size_t)length == strlen(target) &&
	       memcmp(there, target, (size_t)length) == 0;
}

static bool is_immutable(int directory, const char *name)
{
	struct statx what;

	return statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT, 0,
		     &what) == 0 &&
	       what.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND);
}

bool place_is_immutable(const struct place *place)
{
	return is_immutable(place->directory, place->name) || is_immutable(place->directory, "");
}

bool place_has_permanent_names(const struct place *place, uid_t owner)
{
	uid_t user = geteuid();
	struct stat status;

	if (is_immutable(place->directory, ""))
		return true;
	return user != owner && fstat(place->directory, &status) == 0 && status.st_mode & S_ISVTX &&
	       user != status.st_uid && !confine_has_capability(CAP_FOWNER);
}

/* Cuts the last component of an absolute path off. Returns false if none would be left. */
static bool ascend_path(char *path)
{
	char *slash = path ? strrchr(path, '/') : NULL;

	if (!slash || slash == path)
		return false;
	*slash = '\0';
	return true;
}

uint64_t place_count_missing(const char *path)
{
	AUTO_FREE char *folder = strdup(path);
	struct stat status;
	uint64_t count = 0;

	while (ascend_path(folder) && lstat(folder, &status) < 0 && errno == ENOENT)
		count++;
	return count;
}

void place_remove_folders(const char *path, uint64_t count)
{
	AUTO_FREE char *folder = path ? strdup(path) : NULL;

	for (; count > 0 && ascend_path(folder); count--) {
		struct place place;
		int r = place_open_parent(&place, folder);

		if (r == 0 && unlinkat(place.directory, place.name, AT_REMOVEDIR) < 0)
			r = -errno;
		place_close(&place);
		if (r < 0 && r != -ENOENT)
			return;
	}
}
