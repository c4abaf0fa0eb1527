/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_TREE_WALK_H
#define BACKUP_TREE_WALK_H

/* Goes through a directory with all that is below it, by descriptor and without following a
 * symlink; other file systems are entered. Of any depth: a few descriptors are open at a time, and
 * memory is for the names of the directories on the way down. One thread at a time.
 */

#include <sys/stat.h>

#include "base/attributes.h"

/* A directory on the way. Borrowed for the call. */
struct tree_dir {
	int fd; /* open for reading */
	const char *path; /* below the root, "" for the root itself */
	struct stat status;
};

/* Outcome of enter(): nothing in this directory is looked at, and it is not left. */
enum {
	TREE_PASS_OVER = 1
};

/* Each gives 0, or -errno to end the walk. Those that are NULL are not called. */
struct tree_visitor {
	/* A directory, before what is in it. */
	int (*enter)(void *context, const struct tree_dir *dir);
	/* Something else, in the directory that was entered last. */
	int (*item)(void *context, const struct tree_dir *dir, const char *name,
		    const struct stat *status);
	/* A directory, after all that is in it. */
	int (*leave)(void *context, const struct tree_dir *dir);
	/* What cannot be opened, read or examined. */
	int (*failed)(void *context, const char *path, int error);
	void *context;
};

/* Walks; gives 0, what a function of the visitor gave, -EINTR when stop_requested(), or
 * -ENOMEM. */
MUST_CHECK int tree_walk(int root, const struct tree_visitor *visitor);

#endif
