/* SPDX-License-Identifier: MIT */
#ifndef ACT_REACH_H
#define ACT_REACH_H

/* Which users can reach a file through the folders on its path. Any thread. */

#include "base/attributes.h"

/* Can every user who reaches the files in one directory, "from", reach those in another one, "to",
 * by its path? The rule is simple and refuses in doubt. Each folder above a file in "to" must be
 * searchable by all users, or have owner, group and ACL of a folder above "from" and no search bit
 * less than that. Another file system must not be remote or served by a program, which has rules of
 * its own; and "from" must not be a folder in which the kernel follows no symlink that the effective
 * user made (fs.protected_symlinks, proc_sys_fs(5)).
 *
 * from, to	open directories, O_PATH suffices
 *
 * Returns 1, 0, or -errno where a folder cannot be examined. */
MUST_CHECK int reach_includes(int from, int to);

#endif
