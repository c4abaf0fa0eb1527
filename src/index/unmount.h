/* SPDX-License-Identifier: MIT */
#ifndef INDEX_UNMOUNT_H
#define INDEX_UNMOUNT_H

/* Unmounts views, as root or by fusermount3. No request is sent to the view, so this works if its
 * daemon was killed or is stopped. Any thread. */

#include <stdbool.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* Unmounts the view at its mount point.
 *
 * detach	remove the mount from the tree of files, even if it is in use (MNT_DETACH)
 *
 * Returns 0, -EBUSY if a process uses the view, -EPERM if fusermount3 refuses, -ENOENT if there is
 * no fusermount3, or another -errno. Logs nothing. */
MUST_CHECK int mount_point_unmount(const char *point, bool detach);

/* Processes that keep a view from being unmounted. */
struct mount_users {
	size_t count;
	struct bytes names; /* of the first few: "'bash' (process 17), 'tail' (process 19)" */
	bool inside; /* one of them has its working directory in the view */
	bool only_events; /* all of them only have .twinfs/events open */
	bool unexamined; /* other processes possibly use the view, too */
};

/* Finds the processes that keep a view from being unmounted and that this user may examine
 * (proc(5)). The caller frees users->names in either case. Returns 0 or -errno. */
MUST_CHECK int mount_point_find_users(const char *point, struct mount_users *users);

#endif
