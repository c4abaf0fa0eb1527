/* SPDX-License-Identifier: MIT */
#include "base/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"

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
	struct stat now = {0};
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

/* ---- times --------------------------------------------------------------------------------- */

bool stored_time_equals(struct timespec wanted, const struct stat *found)
{
	struct timespec mtime = found->st_mtim;

	for (int64_t kept_ns = 1; kept_ns <= SECOND_NS; kept_ns *= 10) {
		if (found->st_ctim.tv_nsec % kept_ns != 0)
			return false;
		if (wanted.tv_sec == mtime.tv_sec &&
		    wanted.tv_nsec - wanted.tv_nsec % kept_ns == mtime.tv_nsec)
			return true;
	}
	return mtime.tv_nsec == 0 && mtime.tv_sec == (wanted.tv_sec & ~(time_t)1);
}

static int set_times(int directory, const char *path, int flags, const struct timespec *times,
		     struct stat *now)
{
	return utimensat(directory, path, times, flags) < 0 ||
			       fstatat(directory, path, now, flags) < 0
		       ? -errno
		       : 0;
}

int stored_time_set(int directory, const char *path, int flags, struct timespec mtime,
		    struct stat *now)
{
	struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, mtime};
	int r = set_times(directory, path, flags, times, now);

	if (r < 0 || stored_time_equals(mtime, now))
		return r;
	times[0] = now->st_atim;
	return set_times(directory, path, flags, times, now);
}

/* ---- flags of chattr(1) -------------------------------------------------------------------- */

static const struct {
	enum inode_flag flag;
	char letter;
	unsigned int reported; /* STATX_ATTR_* */
	int set; /* FS_*_FL */
} known[] = {
	{INODE_APPEND, 'a', STATX_ATTR_APPEND, FS_APPEND_FL},
	{INODE_NODUMP, 'd', STATX_ATTR_NODUMP, FS_NODUMP_FL},
	{INODE_IMMUTABLE, 'i', STATX_ATTR_IMMUTABLE, FS_IMMUTABLE_FL},
};

int inode_flags_read(int fd, uint32_t *flags)
{
	struct statx status;

	*flags = 0;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &status) < 0)
		return -errno;
	if (!S_ISREG(status.stx_mode) && !S_ISDIR(status.stx_mode))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (status.stx_attributes & known[i].reported)
			*flags |= known[i].flag;
	}
	return 0;
}

int inode_flags_add(int fd, uint32_t flags)
{
	int now;

	/* the kernel reads and writes an int, although the number of the call says long */
	if (ioctl(fd, FS_IOC_GETFLAGS, &now) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (flags & known[i].flag)
			now |= known[i].set;
	}
	return ioctl(fd, FS_IOC_SETFLAGS, &now) < 0 ? -errno : 0;
}

/* Bits that a copy must have before its content. */
#define EARLY (FS_NOCOW_FL | FS_COMPR_FL | FS_NOCOMP_FL)

/* Bits that are read and set. The others describe how the file system stores the file. */
#define SETTABLE                                                                                \
	(EARLY | FS_SECRM_FL | FS_UNRM_FL | FS_SYNC_FL | FS_NODUMP_FL | FS_NOATIME_FL |         \
	 FS_JOURNAL_DATA_FL | FS_NOTAIL_FL | FS_DIRSYNC_FL | FS_TOPDIR_FL | FS_PROJINHERIT_FL | \
	 FS_DAX_FL)

/* Opens a file that is possibly open with O_PATH. Other types have no bits, and an open could
 * block. */
static int open_again(int fd)
{
	struct stat status;

	if (fstat(fd, &status) < 0 || (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)))
		return -1;
	return open(fd_path(fd).text, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

bool inode_flag_bits_read(int fd, uint32_t *bits)
{
	AUTO_CLOSE int file = -1;
	int all = 0;
	int r = ioctl(fd, FS_IOC_GETFLAGS, &all);

	*bits = 0;
	if (r < 0 && errno == EBADF) { /* O_PATH */
		file = open_again(fd);
		r = file < 0 ? -1 : ioctl(file, FS_IOC_GETFLAGS, &all);
	}
	if (r < 0)
		return false;
	*bits = (uint32_t)all & SETTABLE;
	return true;
}

static bool set_bits(int fd, uint32_t bits, uint32_t among)
{
	int all = 0, wanted;

	if (ioctl(fd, FS_IOC_GETFLAGS, &all) < 0)
		return bits == 0;
	wanted = (int)(((uint32_t)all & ~among) | (bits & among));
	if (wanted == all)
		return true;
	if (ioctl(fd, FS_IOC_SETFLAGS, &wanted) < 0 || ioctl(fd, FS_IOC_GETFLAGS, &all) < 0)
		return false;
	return ((uint32_t)all & among) == (bits & among);
}

void inode_flag_bits_set_early(int fd, uint32_t bits)
{
	(void)set_bits(fd, bits, EARLY);
}

bool inode_flag_bits_set(int fd, uint32_t bits)
{
	AUTO_CLOSE int file = open_again(fd);

	return file < 0 ? bits == 0 : set_bits(file, bits, SETTABLE);
}

const char *inode_flags_text(uint32_t flags, char text[static INODE_FLAGS_TEXT_MAX])
{
	size_t length = 0;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (flags & known[i].flag)
			text[length++] = known[i].letter;
	}
	text[length] = '\0';
	return text;
}

bool inode_flags_parse(const char *text, uint32_t *flags)
{
	*flags = 0;
	for (; *text != '\0'; text++) {
		uint32_t found = 0;

		for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
			if (*text == known[i].letter)
				found = known[i].flag;
		}
		if (found == 0)
			return false;
		*flags |= found;
	}
	return true;
}
