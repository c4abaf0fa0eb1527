/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_RECHECK_PLAN_H
#define DAEMON_RECHECK_PLAN_H

/* Plan of a round of the follower: turns events of names into rechecks of directories. One thread.
 */

#include <stddef.h>

#include "base/attributes.h"
#include "ingest/ingest.h"
#include "source/source.h"
#include "watch/name_event.h"

struct recheck_plan {
	/* Each directory occurs once. Directories with RECHECK_TREE are first. Each of them is
	 * rechecked by itself, as one tree can contain another. Names are borrowed from the list of
	 * events. */
	struct recheck *list;
	size_t count;
	size_t tree_count;
	enum rename_trust trust; /* set by the caller */
	bool needs_walk; /* a name that the plan leaves out is possibly a link to any file */
};

/* Fills plan->list, and sets plan->needs_walk if necessary. Leaves out directories that are in a
 * missing source, are not in the index, or are below a root with RECHECK_TREE. Returns 0 or
 * -errno. */
MUST_CHECK int recheck_plan_make(struct recheck_plan *plan, const struct sources *sources,
				 const struct name_events *const *list, size_t count);

void recheck_plan_free(struct recheck_plan *plan);

#endif
