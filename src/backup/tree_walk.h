/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_TREE_WALK_H
#define BACKUP_TREE_WALK_H

/* Walks a directory tree by descriptors, in the order of a manifest (path_order()). Symlinks are
 * not followed. Mounted file systems are entered. The depth is not limited, and few descriptors are
 * open at a time. Takes memory for the names of each directory from the root to the current one.
 * One thread at a time.
 */

#include <sys/stat.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* A directory of the walk. Borrowed for the call. */
struct tree_dir {
	int fd; /* open for reading */
	const char *path; /* below the root, "" for the root itself */
	struct stat status;
};

/* Outcome of enter(): the entries of the directory are skipped, and leave() is not called for the
 * directory. */
enum {
	TREE_PASS_OVER = 1
};

/* Callbacks of a walk. Each returns 0, or -errno to abort the walk; enter can also return
 * TREE_PASS_OVER. All but failed may be NULL. */
struct tree_visitor {
	/* Called for a directory before its entries. */
	int (*enter)(void *context, const struct tree_dir *dir);
	/* Called for each entry that is no directory. The directory was entered, but possibly its
	 * subdirectories as well since then. */
	int (*item)(void *context, const struct tree_dir *dir, const char *name,
		    const struct stat *status);
	/* Called for a directory after all its entries. */
	int (*leave)(void *context, const struct tree_dir *dir);
	/* Called for a path that cannot be opened, read or examined. If it returns 0, the walk
	 * continues after the path. */
	int (*failed)(void *context, const char *path, int error);
	void *context;
};

/* Sets path to that of a name in a directory of the walk; "": the directory itself. Returns 0 or
 * -ENOMEM. */
MUST_CHECK int tree_path(struct bytes *path, const char *directory, const char *name);

/* Walks the tree below an open directory. Returns 0, the failure of a callback, -EINTR if
 * stop_requested(), or -ENOMEM. */
MUST_CHECK int tree_walk(int root, const struct tree_visitor *visitor);

#endif
