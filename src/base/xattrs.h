/* SPDX-License-Identifier: MIT */
#ifndef BASE_XATTRS_H
#define BASE_XATTRS_H

/* The extended attributes of one file, including ACLs (acl(5)), which are attributes
 * system.posix_acl_*.
 *
 * Other attributes of the system namespace are excluded: they represent data that is elsewhere in
 * the inode. One thread at a time. A struct xattrs of zeros is valid and empty. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/attributes.h"

struct xattr {
	const char *name;
	const void *value;
	size_t length; /* of value, in bytes */
};

struct xattrs {
	struct xattr *list; /* sorted by name, each name once */
	size_t count;
	size_t capacity;
	struct arena arena; /* names and values of the list */
	char *room; /* buffer for system calls, reused for each file */
};

void xattrs_free(struct xattrs *xattrs);
#define CLEANUP_XATTRS CLEANUP(xattrs_free)

/* Removes all attributes, but keeps the memory. */
void xattrs_clear(struct xattrs *xattrs);

/* Inserts a copy of an attribute, sorted by name. Returns 0, -EEXIST if the name exists, or
 * -ENOMEM.
 */
MUST_CHECK int xattrs_add(struct xattrs *xattrs, const char *name, const void *value,
			  size_t length);

/* Replaces the attributes by those of the open file fd, which may be O_PATH; by none if the file
 * system does not support them. Returns 0 or -errno. */
MUST_CHECK int xattrs_read(struct xattrs *xattrs, int fd);

/* Reads only the ACLs, like xattrs_read(). */
MUST_CHECK int xattrs_read_acls(struct xattrs *xattrs, int fd);

/* Sets the attributes of the open file fd. Removes ACLs that the file inherited from its folder.
 *
 * refused	incremented for each attribute that this user may not set, or that the file system
 *		cannot store
 *
 * Returns 0 or -errno. */
MUST_CHECK int xattrs_write(const struct xattrs *xattrs, int fd, uint64_t *refused);

/* Returns the mode that a file may have after xattrs_write(): mode, or a more restricted mode if
 * the access ACL was refused. */
mode_t xattrs_safe_mode(const struct xattrs *xattrs, int fd, mode_t mode);

bool xattrs_equal(const struct xattrs *a, const struct xattrs *b);

/* Returns the mode for a copy that cannot have the access ACL of a file. In a mode with an ACL, the
 * group bits are the mask, not the permissions of the owning group. With the returned mode, no user
 * can do anything that the ACL denies. This includes users and groups that the ACL names in order
 * to deny access.
 *
 * acl	borrowed, as in the attribute (linux/posix_acl_xattr.h); if it is not a valid ACL, only the
 *	owner has access
 * mode	of the file with the ACL; bits other than those of group and others do not change */
mode_t acl_mode_without(const void *acl, size_t length, mode_t mode);

#endif
