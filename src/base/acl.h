/* SPDX-License-Identifier: MIT */
#ifndef BASE_ACL_H
#define BASE_ACL_H

/* POSIX ACLs as the kernel has them in extended attributes (acl(5), linux/posix_acl_xattr.h). Any
 * thread. */

#include <stddef.h>
#include <sys/types.h>

#define ACL_ACCESS_NAME "system.posix_acl_access"
#define ACL_DEFAULT_NAME "system.posix_acl_default"

/* Returns the mode for a file that had this access ACL and cannot have it. Of a file with an ACL the
 * bits of the group are a limit, and not what the group may do. With the mode returned nobody may do
 * anything that the ACL did not allow: also not a user or group that the ACL named to keep it out.
 *
 * acl		borrowed; what is no ACL allows the owner only
 * mode		of the file with the ACL; other bits than those of group and others are returned as they are */
mode_t acl_mode_without(const void *acl, size_t length, mode_t mode);

#endif
