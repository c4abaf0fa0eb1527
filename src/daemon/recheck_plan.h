/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_RECHECK_PLAN_H
#define DAEMON_RECHECK_PLAN_H

/* From what is dirty to what ingest is asked to look at. One thread. */

#include <stddef.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "ingest/ingest.h"
#include "source/source.h"
#include "watch/dirty.h"

struct recheck_plan {
	/* Each directory once. Those in front are deep: one may lie in another, or the others in
	 * it, so each is looked at by itself. */
	struct ingest_look *list;
	size_t count;
	size_t deep_count;
	struct ingest_look_name *names; /* of all of them */
	size_t name_count;
	/* Something was written to, and under what name it is now nobody may know: whatever changed
	 * its name may have been it. Set by the caller, too. */
	bool doubt;
	/* What nobody looks at here may be another name of any file. */
	bool missed;
};

/* Files that were written to. */
struct written_file {
	uint64_t file;
	bool closed; /* and closed since */
};

/* Finds which files of the index these names are, where their content was or may have been written
 * to, and forgets what is known of it, in a transaction of its own: what changed is hidden before
 * anything else is done. Sets looks->doubt.
 *
 * list		as dirty_list gives it
 * written	gets a struct written_file for each
 *
 * 0 or -errno. */
MUST_CHECK int recheck_plan_hide_written(struct recheck_plan *plan, struct catalog *catalog,
					 const struct dirty_name *const *list, size_t count,
					 struct bytes *written);

/* Makes the looks, and sets looks->missed; names are borrowed from the list. What is left out:
 * directories of sources that are missing, those that the index does not have any more, and those
 * in a source that is looked at as a whole. 0 or -errno. */
MUST_CHECK int recheck_plan_make(struct recheck_plan *plan, const struct sources *sources,
				 const struct dirty_name *const *list, size_t count);

void recheck_plan_free(struct recheck_plan *plan);

#endif
