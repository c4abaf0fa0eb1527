/* SPDX-License-Identifier: MIT */
#ifndef BASE_ACL_H
#define BASE_ACL_H

/* POSIX ACLs in the format of the extended attributes of the kernel (acl(5),
 * linux/posix_acl_xattr.h). Any thread. */

#include <stddef.h>
#include <sys/types.h>

#define ACL_ACCESS_NAME "system.posix_acl_access"
#define ACL_DEFAULT_NAME "system.posix_acl_default"

/* Returns the mode for a copy that cannot have the access ACL of a file. In a mode with an ACL, the
 * group bits are the mask, not the permissions of the owning group. With the returned mode, no user
 * can do anything that the ACL denies. This includes users and groups that the ACL names in order
 * to deny access.
 *
 * acl	borrowed; if it is not a valid ACL, only the owner has access
 * mode	of the file with the ACL; bits other than those of group and others do not change */
mode_t acl_mode_without(const void *acl, size_t length, mode_t mode);

#endif
