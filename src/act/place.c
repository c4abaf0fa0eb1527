/* SPDX-License-Identifier: MIT */
#include "act/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
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

bool place_keeps_names(const struct place *place, uid_t owner)
{
	uid_t user = geteuid();
	struct stat status;

	if (is_immutable(place->directory, ""))
		return true;
	return user != 0 && user != owner && fstat(place->directory, &status) == 0 &&
	       status.st_mode & S_ISVTX && user != status.st_uid;
}

int place_rename(const struct place *place, const char *from, const char *to, unsigned int flags)
{
	return renameat2(place->directory, from, place->directory, to, flags) == 0 ? 0 : -errno;
}
