/* SPDX-License-Identifier: MIT */
#ifndef CLI_ACT_PLAN_H
#define CLI_ACT_PLAN_H

/* The plan: the acts to do, in an unnamed file. The rules select them in one snapshot of the index.
 * The acts can take hours. Meanwhile no snapshot stays open, as the plan has all that they need.
 * The command acts upon exactly the files that it counted for the user. One thread. */

#include <stdint.h>
#include <stdio.h>

#include "act/act.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "report/report.h"

struct act_plan {
	FILE *spool;
	uint64_t names; /* names to act upon */
	uint64_t bytes; /* size of their inodes, each counted once: the most that can be freed */
	uint64_t split; /* how many of these inodes have further names, not acted upon */
};

/* Makes the plan. The caller must free the plan, even after a failure. Returns 0 or -errno; -EINTR
 * if stop_requested().
 */
MUST_CHECK int act_plan_make(struct act_plan *plan, const struct report *report);
void act_plan_free(struct act_plan *plan);

/* One planned act. kept and copy point into the other members, which the next act_plan_read()
 * overwrites. */
struct planned {
	struct act_file kept, copy;
	struct attributes kept_attributes, copy_attributes;
	struct bytes kept_path, copy_path;
};

void planned_free(struct planned *planned);

/* Reads the next act. Returns 0, -ENOENT at the end of the plan, or -errno. */
MUST_CHECK int act_plan_read(struct act_plan *plan, struct planned *planned);

#endif
