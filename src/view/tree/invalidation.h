/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_INVALIDATION_H
#define VIEW_TREE_INVALIDATION_H

/* The changes of a commit, stored until the frontend has invalidated the kernel's caches.
 *
 * The committing thread creates an invalidation. Another thread applies it later, with a new
 * snapshot, and so uses the state of the changed objects at that time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "index/commit_delta.h"
#include "view/tree/view.h"

struct invalidation {
	struct invalidation *next; /* link for a list of the owner */
	struct timespec time; /* wall clock time of creation */
	struct commit_delta delta;
};

/* Takes the changes of a commit, and leaves an empty delta. Makes no query and no system call.
 * Returns 0 or -ENOMEM. */
MUST_CHECK int invalidation_new(struct invalidation **invalidation, struct commit_delta *delta);
void invalidation_free(struct invalidation *invalidation); /* accepts NULL */

/* Creates an invalidation of all directories of the sources, whose listings fail from now on
 * (view.stale). Reads the catalog. Returns 0 or -errno. */
MUST_CHECK int invalidation_new_all(struct invalidation **invalidation, const struct view *view);

/* The frontend's functions that invalidate its caches. Called without a snapshot or lock, unless
 * noted otherwise; can block. Order: all entries, then wait, then inode, then copy_listings. */
struct invalidation_sink {
	/* Returns whether the frontend can have cached attributes of this node or names in it.
	 * Version 0 stands for all versions of a file. Called during a snapshot. The frontend must
	 * mark the node of a call before that call of the view. Before a reply, the frontend must
	 * mark the node that a name refers to. */
	bool (*is_cached)(void *context, uint64_t node);
	/* A name in a directory was added, removed, or refers to another node. On return, requests
	 * that were running in this directory have ended. directory: it refers to a directory, or
	 * did. */
	void (*entry)(void *context, uint64_t parent, const char *name, size_t length,
		      bool directory);
	/* Waits for running requests in a directory. */
	void (*wait)(void *context, uint64_t parent);
	/* The attributes of a node, or the names in a directory, can have changed. */
	void (*inode)(void *context, uint64_t node);
	/* The listing of any group's folder can have changed, because a directory above copies was
	 * renamed. Called last. On return, requests that were running in such folders have
	 * ended. */
	void (*copy_listings)(void *context);
	void *context;
};

/* Reports the changes of an invalidation to the sink. A large invalidation is processed in parts;
 * two parts can report the same entry. Appends lines to .twinfs/events if it has readers. Blocks on
 * the sink.
 *
 * Returns 0, or -errno if the report is incomplete. In that case, the call may be repeated. */
MUST_CHECK int invalidation_apply(struct view *view, const struct invalidation *invalidation,
				  const struct invalidation_sink *sink);

#endif
