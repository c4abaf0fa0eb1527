/* SPDX-License-Identifier: MIT */
#include "base/metadata.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/limits.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/array.h"
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

/* ---- extended attributes ----------------------------------------------------------- */

#define ACL_ACCESS_NAME "system.posix_acl_access"
#define ACL_DEFAULT_NAME "system.posix_acl_default"

/* Buffer size: the list of names, followed by a value. */
#define ROOM_BYTES (XATTR_LIST_MAX + XATTR_SIZE_MAX)

static const char *const acls[] = {ACL_ACCESS_NAME, ACL_DEFAULT_NAME};

/* ---- ACLs --------------------------------------------------------------------------------- */

/* Permissions that an ACL grants, three bits each. A kind of entry that the ACL does not have
 * allows everything.
 */
struct allowed {
	mode_t group; /* the owning group */
	mode_t mask; /* limits the owning group, and all named users and groups */
	mode_t users; /* permissions that all named users have */
	mode_t groups; /* permissions that all named groups have */
	mode_t others;
	bool names_any;
};

static void take_entry(struct allowed *allowed, const struct posix_acl_xattr_entry *entry)
{
	mode_t bits = le16toh(entry->e_perm) & S_IRWXO;

	switch (le16toh(entry->e_tag)) {
	case ACL_USER:
		allowed->users &= bits;
		allowed->names_any = true;
		break;
	case ACL_GROUP:
		allowed->groups &= bits;
		allowed->names_any = true;
		break;
	case ACL_GROUP_OBJ:
		allowed->group = bits;
		break;
	case ACL_MASK:
		allowed->mask = bits;
		break;
	case ACL_OTHER:
		allowed->others = bits;
		break;
	default:
		break;
	}
}

static bool is_valid_acl(const char *acl, size_t length)
{
	struct posix_acl_xattr_header header;

	if (length < sizeof(header) ||
	    (length - sizeof(header)) % sizeof(struct posix_acl_xattr_entry) != 0)
		return false;
	memcpy(&header, acl, sizeof(header));
	return le32toh(header.a_version) == POSIX_ACL_XATTR_VERSION;
}

mode_t acl_mode_without(const void *acl, size_t length, mode_t mode)
{
	struct allowed allowed = {S_IRWXO, S_IRWXO, S_IRWXO, S_IRWXO, S_IRWXO, false};
	mode_t group, others;

	if (!is_valid_acl(acl, length))
		return mode & ~(mode_t)(S_IRWXG | S_IRWXO);
	for (size_t at = sizeof(struct posix_acl_xattr_header); at < length;
	     at += sizeof(struct posix_acl_xattr_entry)) {
		struct posix_acl_xattr_entry entry;

		memcpy(&entry, (const char *)acl + at, sizeof(entry));
		take_entry(&allowed, &entry);
	}
	/* Without the ACL, a named user gets the bits of the owning group or of others. Members of
	 * a named group get the bits of others. The entries of named users and groups therefore
	 * limit these bits. */
	group = allowed.group & allowed.mask & allowed.users;
	others = allowed.others & allowed.users & allowed.groups;
	if (allowed.names_any)
		others &= allowed.mask;
	return mode & (~(mode_t)(S_IRWXG | S_IRWXO) | group << 3 | others);
}

/* ---- attributes --------------------------------------------------------------------------- */

void xattrs_free(struct xattrs *xattrs)
{
	free(xattrs->list);
	free(xattrs->room);
	arena_free(&xattrs->arena);
	memset(xattrs, 0, sizeof(*xattrs));
}

void xattrs_clear(struct xattrs *xattrs)
{
	xattrs->count = 0;
	arena_reset(&xattrs->arena);
}

/* Returns the index of the name, or the index at which to insert it. Sets *found. */
static size_t find(const struct xattrs *xattrs, const char *name, bool *found)
{
	size_t first = 0;
	size_t end = xattrs->count;

	*found = false;
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		int order = strcmp(xattrs->list[middle].name, name);

		if (order == 0) {
			*found = true;
			return middle;
		}
		if (order < 0)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

int xattrs_add(struct xattrs *xattrs, const char *name, const void *value, size_t length)
{
	bool found;
	size_t at = find(xattrs, name, &found);
	struct xattr added = {.length = length};
	int r;

	if (found)
		return -EEXIST;
	r = array_reserve(&xattrs->list, &xattrs->capacity, xattrs->count + 1,
			  sizeof(*xattrs->list));
	if (r < 0)
		return r;
	added.name = arena_copy(&xattrs->arena, name, strlen(name));
	added.value = arena_copy(&xattrs->arena, value, length);
	if (!added.name || !added.value)
		return -ENOMEM;
	memmove(&xattrs->list[at + 1], &xattrs->list[at],
		(xattrs->count - at) * sizeof(*xattrs->list));
	xattrs->list[at] = added;
	xattrs->count++;
	return 0;
}

static bool is_acl(const char *name)
{
	return strcmp(name, acls[0]) == 0 || strcmp(name, acls[1]) == 0;
}

static bool begins_with(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool is_copied(const char *name)
{
	/* XFS lists each ACL a second time, in its own format */
	if (begins_with(name, "trusted.SGI_ACL_"))
		return false;
	return !begins_with(name, "system.") || is_acl(name);
}

static int read_one(struct xattrs *xattrs, const char *path, const char *name)
{
	char *value = xattrs->room + XATTR_LIST_MAX;
	ssize_t length = getxattr(path, name, value, XATTR_SIZE_MAX);

	if (length < 0)
		return errno == ENODATA ? 0 : -errno;
	return xattrs_add(xattrs, name, value, (size_t)length);
}

static int begin_to_read(struct xattrs *xattrs)
{
	xattrs_clear(xattrs);
	if (!xattrs->room)
		xattrs->room = malloc(ROOM_BYTES);
	return xattrs->room ? 0 : -ENOMEM;
}

int xattrs_read_acls(struct xattrs *xattrs, int fd)
{
	struct fd_path path = fd_path(fd);
	int r = begin_to_read(xattrs);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(acls); i++)
		r = read_one(xattrs, path.text, acls[i]);
	return r == -EOPNOTSUPP ? 0 : r;
}

int xattrs_read(struct xattrs *xattrs, int fd)
{
	struct fd_path path = fd_path(fd);
	ssize_t length;
	int r = begin_to_read(xattrs);

	if (r < 0)
		return r;
	length = listxattr(path.text, xattrs->room, XATTR_LIST_MAX);
	if (length < 0)
		return errno == EOPNOTSUPP ? 0 : -errno;
	for (const char *name = xattrs->room; r == 0 && name < xattrs->room + length;
	     name += strlen(name) + 1) {
		if (is_copied(name))
			r = read_one(xattrs, path.text, name);
	}
	return r;
}

static bool is_attribute_refusal(int error)
{
	return error == EPERM || error == EACCES || error == EOPNOTSUPP || error == EINVAL;
}

/* Returns whether the file system cannot store so much for one file. Ext4 and Btrfs then report
 * ENOSPC, as for a full disk, so the free space decides. */
static bool is_too_large(int error, const char *path)
{
	struct statvfs status;

	if (error == E2BIG || error == ERANGE)
		return true;
	return error == ENOSPC && statvfs(path, &status) == 0 &&
	       status.f_bavail > ROOM_BYTES / status.f_frsize;
}

static int remove_acl(const char *path, const char *name)
{
	return removexattr(path, name) < 0 && errno != ENODATA && !is_attribute_refusal(errno)
		       ? -errno
		       : 0;
}

/* Removes ACLs that a new file inherited from the default ACL of its folder. */
static int remove_other_acls(const struct xattrs *xattrs, const char *path)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(acls); i++) {
		bool wanted;

		(void)find(xattrs, acls[i], &wanted);
		if (!wanted)
			r = remove_acl(path, acls[i]);
	}
	return r;
}

int xattrs_write(const struct xattrs *xattrs, int fd, uint64_t *refused)
{
	struct fd_path path = fd_path(fd);
	int r = 0;

	for (size_t i = 0; r == 0 && i < xattrs->count; i++) {
		const struct xattr *xattr = &xattrs->list[i];

		if (setxattr(path.text, xattr->name, xattr->value, xattr->length, 0) == 0)
			continue;
		r = -errno;
		if (!is_attribute_refusal(-r) && !is_too_large(-r, path.text))
			return r;
		r = 0;
		(*refused)++;
		if (is_acl(xattr->name))
			r = remove_acl(path.text, xattr->name);
	}
	return r == 0 ? remove_other_acls(xattrs, path.text) : r;
}

mode_t xattrs_safe_mode(const struct xattrs *xattrs, int fd, mode_t mode)
{
	struct fd_path path = fd_path(fd);
	bool has_acl;
	size_t at = find(xattrs, ACL_ACCESS_NAME, &has_acl);

	if (!has_acl || getxattr(path.text, ACL_ACCESS_NAME, NULL, 0) >= 0)
		return mode;
	return acl_mode_without(xattrs->list[at].value, xattrs->list[at].length, mode);
}

bool xattrs_equal(const struct xattrs *a, const struct xattrs *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct xattr *left = &a->list[i];
		const struct xattr *right = &b->list[i];

		if (strcmp(left->name, right->name) != 0 || left->length != right->length ||
		    memcmp(left->value, right->value, left->length) != 0)
			return false;
	}
	return true;
}

int xattrs_are_same(int a, int b)
{
	CLEANUP_XATTRS struct xattrs of_a = {0}, of_b = {0};
	int r = xattrs_read(&of_a, a);

	if (r == 0)
		r = xattrs_read(&of_b, b);
	return r < 0 ? r : xattrs_equal(&of_a, &of_b);
}
