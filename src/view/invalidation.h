/* SPDX-License-Identifier: MIT */
#ifndef VIEW_INVALIDATION_H
#define VIEW_INVALIDATION_H

/* What a commit changed, kept until whoever shows the view (the frontend) has dropped what it holds
 * of it.
 *
 * A notice is made in the thread that commits and is spread in another, later: what things are by
 * then is asked of a new snapshot.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "catalog/commit_delta.h"
#include "view/view.h"

struct invalidation {
	struct invalidation *next; /* for who holds it in a list */
	struct timespec time; /* wall clock, when it was made */
	struct commit_delta delta; /* its pointers lead into the notice's own memory */
};

/* Copies the news; makes no query and no system call. 0 or -ENOMEM. */
MUST_CHECK int invalidation_new(struct invalidation **invalidation,
				const struct commit_delta *delta);
void invalidation_free(struct invalidation *invalidation); /* accepts NULL */

/* One that drops what is held of all folders of the sources, as listing them fails from now on
 * (view_set_stale). Reads the catalog. 0 or -errno. */
MUST_CHECK int invalidation_new_of_all(struct invalidation **invalidation, const struct view *view);

/* Who is told what a notice means. No snapshot or lock is held during these calls, which may block;
 * what may be held of a node is dropped by: all entries, then settle, then node. */
struct invalidation_sink {
	/* May the frontend hold anything of this node: its attributes, or names in it? Version 0
	 * stands for all versions of a file. It is called while a snapshot is held; what it knows
	 * must have been noted before that which was given out was asked of the view. */
	bool (*holds)(void *context, uint64_t node);
	/* A name in a directory came or went, or means another node. What is under way in that
	 * directory must have ended when it returns. */
	void (*entry)(void *context, uint64_t parent, const char *name, size_t length);
	/* Waits for what is under way in a directory. */
	void (*settle)(void *context, uint64_t parent);
	/* The attributes of a node, and the names in a directory, may be other ones. */
	void (*node)(void *context, uint64_t node);
	/* Any folder of a group may list other names: what they are called has changed with a
	 * directory above them. Comes last; what is under way in such a folder must have ended when
	 * it returns. */
	void (*copies)(void *context);
	void *context;
};

/* Tells the sink what a notice means, each thing once as far as memory allows (a huge notice goes
 * in pieces), and adds to the events if somebody reads them. Blocks on the sink.
 *
 * 0, or -errno: not everything was told; it may be called again. */
MUST_CHECK int invalidation_apply(struct view *view, const struct invalidation *invalidation,
				  const struct invalidation_sink *sink);

#endif
