/* SPDX-License-Identifier: MIT */
#ifndef CLI_ACT_PLAN_H
#define CLI_ACT_PLAN_H

/* What is to be acted upon, decided by the rules in one snapshot of the index and kept in a file
 * without a name: so no snapshot is held while files are compared, which may take hours, and what
 * is done is what was counted before. One thread. */

#include <stdint.h>
#include <stdio.h>

#include "act/act.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "report/report.h"

struct act_plan {
	FILE *spool;
	uint64_t names; /* that are acted upon */
	uint64_t bytes; /* of their inodes, each once: what may be freed */
	uint64_t parted; /* inodes with further names, which stay */
};

/* Decides. The plan is freed in either case. 0 or -errno: -EINTR when stop_requested(). */
MUST_CHECK int act_plan_make(struct act_plan *plan, const struct report *report);
void act_plan_free(struct act_plan *plan);

/* One planned act; both files point into it, until the next is read. */
struct planned {
	struct act_file kept, copy;
	struct attributes kept_attributes, copy_attributes;
	struct bytes kept_path, copy_path;
};

void planned_free(struct planned *planned);

/* 0 and the next one, -ENOENT at the end, or -errno. */
MUST_CHECK int act_plan_read(struct act_plan *plan, struct planned *planned);

#endif
