/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_RECHECK_PLAN_H
#define VIEW_FOLLOW_RECHECK_PLAN_H

/* What a round of the follower does with events of names: first hides the files that were possibly
 * written to, then plans rechecks of directories. One thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "index/catalog.h"
#include "index/source.h"
#include "scan/ingest.h"

/* Lowers the trust in renames to this level, unless it is lower already. */
static inline void rename_trust_lower(enum rename_trust *trust, enum rename_trust level)
{
	if (*trust < level)
		*trust = level;
}

/* A file that was possibly written to. */
struct written_file {
	uint64_t file;
	bool closed; /* every known writer has closed it */
};

/* Finds the files by their names in the index. Commits that their contents are unknown.
 *
 * list		from event_set_list()
 * trust	lowered to RENAME_UNTRUSTED if a write possibly belongs to another name
 * written	receives a struct written_file for each of these files
 *
 * Returns 0 or -errno. */
MUST_CHECK int written_files_hide(struct catalog *catalog, const struct name_events *const *list,
				  size_t count, enum rename_trust *trust, struct bytes *written);

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
