/* SPDX-License-Identifier: MIT */
#ifndef ACT_REACH_H
#define ACT_REACH_H

/* Reach of a file: the users that can access it through the folders on its path. Any thread. */

#include "base/attributes.h"

/* Returns whether each user who can reach the files in directory "from" can reach the files in
 * directory "to" by the path of "to". The check is conservative: in rare cases it returns 0
 * although the answer is yes.
 *
 * Each folder on the path of "to" must be searchable by all users and have no ACL, or correspond to
 * a folder on the path of "from": same owner, group and ACL, and at least the same search bits. If
 * both are on different file systems, that of "to" must not be remote or FUSE, as these check
 * access by other rules. Nor may "from" be a sticky folder that all users can write to and another
 * user owns: there the kernel follows a symlink of the effective user for no other user
 * (fs.protected_symlinks, proc_sys_fs(5)).
 *
 * from, to	open directories, O_PATH suffices
 *
 * Returns 1, 0, or -errno if a folder cannot be examined. */
MUST_CHECK int reach_includes(int from, int to);

#endif
