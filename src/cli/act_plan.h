/* SPDX-License-Identifier: MIT */
#ifndef CLI_ACT_PLAN_H
#define CLI_ACT_PLAN_H

/* The acts to do, decided by the rules in one snapshot of the index and kept in an unnamed file.
 * Comparing files can take hours. With the plan, no snapshot of the index stays open meanwhile, and
 * exactly the counted files are acted upon. One thread. */

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
	uint64_t split; /* inodes that have further names, which are not acted upon */
};

/* Makes the plan. The caller must free the plan, even after a failure. Returns 0 or -errno; -EINTR
 * if stop_requested().
 */
MUST_CHECK int act_plan_make(struct act_plan *plan, const struct report *report);
void act_plan_free(struct act_plan *plan);

/* One planned act. kept and copy point into the other members, and are valid until the next
 * read. */
struct planned {
	struct act_file kept, copy;
	struct attributes kept_attributes, copy_attributes;
	struct bytes kept_path, copy_path;
};

void planned_free(struct planned *planned);

/* Reads the next act. Returns 0, -ENOENT at the end of the plan, or -errno. */
MUST_CHECK int act_plan_read(struct act_plan *plan, struct planned *planned);

#endif
