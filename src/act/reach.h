/* SPDX-License-Identifier: MIT */
#ifndef ACT_REACH_H
#define ACT_REACH_H

/* Reach of a file: the users that can access it through the folders on its path. Any thread. */

#include "base/attributes.h"

/* Returns whether each user who can reach the files in directory "from" can also reach those in
 * directory "to" by its path. The check is conservative: it may return 0 although the answer is
 * yes.
 *
 * Each folder on the path of "to" must be searchable by all users, or correspond to a folder on the
 * path of "from": same owner, group and ACL, and at least its search bits. If "to" is on another
 * file system, it must not be a remote or FUSE file system, because these check access by other
 * rules. In "from", the kernel must follow symlinks of the effective user (fs.protected_symlinks,
 * proc_sys_fs(5)).
 *
 * from, to	open directories, O_PATH suffices
 *
 * Returns 1, 0, or -errno if a folder cannot be examined. */
MUST_CHECK int reach_includes(int from, int to);

#endif
