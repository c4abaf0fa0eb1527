/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_RECHECK_PLAN_H
#define DAEMON_RECHECK_PLAN_H

/* Plan of a round: turns events of names into rechecks of directories. One thread. */

#include <stddef.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/name_event.h"
#include "ingest/ingest.h"
#include "source/source.h"

struct recheck_plan {
	/* Each directory occurs once. Directories with RECHECK_TREE are first. Each of them is
	 * rechecked by itself, as one tree can contain another. Names are borrowed from the list of
	 * events. */
	struct recheck *list;
	size_t count;
	size_t tree_count;
	/* Initialized by the caller. Becomes RENAME_UNTRUSTED if a write possibly belongs to
	 * another name. */
	enum rename_trust trust;
	/* A name that the plan leaves out is possibly a link to any file. */
	bool needs_walk;
};

/* A file that was, or was possibly, written to. */
struct written_file {
	uint64_t file;
	bool closed; /* every known writer has closed it */
};

/* Marks the content of files that were, or were possibly, written to as unknown. Must be called
 * before all rechecks, as this is a transaction of its own. Updates plan->trust.
 *
 * list		from event_set_list()
 * written	receives a struct written_file for each such file
 *
 * Returns 0 or -errno. */
MUST_CHECK int recheck_plan_hide_written(struct recheck_plan *plan, struct catalog *catalog,
					 const struct name_events *const *list, size_t count,
					 struct bytes *written);

/* Makes the rechecks and sets plan->needs_walk. Leaves out directories that are in a missing
 * source, are not in the index, or are in a source whose root has RECHECK_TREE. Returns 0 or
 * -errno. */
MUST_CHECK int recheck_plan_make(struct recheck_plan *plan, const struct sources *sources,
				 const struct name_events *const *list, size_t count);

void recheck_plan_free(struct recheck_plan *plan);

#endif
