/* SPDX-License-Identifier: MIT */
#include "base/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/stored_time.h"

struct metadata metadata_of(const struct stat *status, const struct xattrs *xattrs)
{
	return (struct metadata){
		.mode = status->st_mode & ALLPERMS,
		.uid = status->st_uid,
		.gid = status->st_gid,
		.mtime = status->st_mtim,
		.xattrs = xattrs,
	};
}

/* EINVAL: the id is not mapped in the user namespace */
static bool is_refusal(int error)
{
	return error == EPERM || error == EINVAL;
}

/* Sets owner and group. *whole is set to whether both are as wanted. */
static int apply_owner(const struct metadata *metadata, int fd, const struct stat *now, bool *whole)
{
	*whole = true;
	if (now->st_uid == metadata->uid && now->st_gid == metadata->gid)
		return 0;
	if (fchownat(fd, "", metadata->uid, metadata->gid, AT_EMPTY_PATH) == 0)
		return 0;
	if (!is_refusal(errno))
		return -errno;
	/* a user may set a group that it is a member of */
	if (fchownat(fd, "", (uid_t)-1, metadata->gid, AT_EMPTY_PATH) == 0)
		*whole = now->st_uid == metadata->uid;
	else if (is_refusal(errno))
		*whole = false;
	else
		return -errno;
	return 0;
}

/* Sets the mtime. The kernel silently replaces a time that the file system cannot store by the
 * nearest one, so the result is read back. */
static int apply_time(const struct metadata *metadata, int fd, struct metadata_refused *refused)
{
	struct stat now;
	int r = stored_time_set(AT_FDCWD, fd_path(fd).text, 0, metadata->mtime, &now);

	refused->times += r == 0 && !stored_time_equals(metadata->mtime, &now);
	return r;
}

/* The order matters: a change of the owner clears set-ID bits and capabilities. An unprivileged
 * user cannot set attributes of a file that is not writable. */
int metadata_apply(const struct metadata *metadata, int fd, struct metadata_refused *refused)
{
	struct fd_path path = fd_path(fd);
	struct stat now;
	mode_t mode = metadata->mode;
	bool whole;
	int r;

	if (fstat(fd, &now) < 0)
		return -errno;
	r = apply_owner(metadata, fd, &now, &whole);
	if (r == 0)
		r = xattrs_write(metadata->xattrs, fd, &refused->xattrs);
	if (r < 0)
		return r;
	if (!whole) {
		refused->owners++;
		mode &= S_ISDIR(now.st_mode) ? (mode_t)ALLPERMS : (mode_t)ACCESSPERMS;
	}
	mode = xattrs_safe_mode(metadata->xattrs, fd, mode);
	if (!S_ISLNK(now.st_mode) && chmod(path.text, mode) < 0)
		return -errno;
	return apply_time(metadata, fd, refused);
}
