/* SPDX-License-Identifier: MIT */
#include "base/acl.h"

#include <endian.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

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

static bool is_acl(const char *acl, size_t length)
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

	if (!is_acl(acl, length))
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
