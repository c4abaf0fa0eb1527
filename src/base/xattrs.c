/* SPDX-License-Identifier: MIT */
#include "base/xattrs.h"

#include <endian.h>
#include <errno.h>
#include <linux/limits.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include "base/array.h"
#include "base/descriptor.h"

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

static bool is_refusal(int error)
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
	return removexattr(path, name) < 0 && errno != ENODATA && !is_refusal(errno) ? -errno : 0;
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
		if (!is_refusal(-r) && !is_too_large(-r, path.text))
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
