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
	/* Each directory occurs once. Those with RECHECK_TREE are first: one may contain others, so
	 * each is rechecked by itself. Names are borrowed from the list of events. */
	struct recheck *list;
	size_t count;
	size_t tree_count;
	/* The caller initializes it. Becomes RENAME_UNTRUSTED if a write may belong to another
	 * name. */
	enum rename_trust trust;
	/* A name that the plan leaves out may be a link to any file. */
	bool needs_walk;
};

/* A file that was or may have been written to. */
struct written_file {
	uint64_t file;
	bool closed; /* every known writer has closed it */
};

/* Marks the content of files that were or may have been written to as unknown, in a transaction of
 * its own, before all rechecks. Updates plan->trust.
 *
 * list		from event_set_list()
 * written	receives a struct written_file for each such file
 *
 * Returns 0 or -errno. */
MUST_CHECK int recheck_plan_hide_written(struct recheck_plan *plan, struct catalog *catalog,
					 const struct name_events *const *list, size_t count,
					 struct bytes *written);

/* Makes the rechecks and sets plan->needs_walk. Leaves out directories of missing sources, those
 * that are not in the index, and those in a source with RECHECK_TREE. Returns 0 or -errno. */
MUST_CHECK int recheck_plan_make(struct recheck_plan *plan, const struct sources *sources,
				 const struct name_events *const *list, size_t count);

void recheck_plan_free(struct recheck_plan *plan);

#endif
