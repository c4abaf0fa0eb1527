/* SPDX-License-Identifier: MIT */
#ifndef PARTIAL_SHARING_H
#define PARTIAL_SHARING_H

/* Shares the runs of a plan. For the main thread, which starts further threads: each takes the next
 * run.
 *
 * A source that cannot be read any more, or has changed, would cost the runs of all files that are
 * equal to it. So the rest is planned again without it, and shared. */

#include <stdbool.h>

#include "base/attributes.h"
#include "partial/partial.h"

struct sharing_result {
	struct partial_count shared;
	/* Runs of the last plan: */
	struct partial_count differing; /* changed since the blocks were hashed */
	struct partial_count refused; /* failures; each file was logged once */
	bool is_full; /* stopped, as the disk is full */
};

/* Shares the runs of partial->runs, and takes them off partial->planned. Counts bad sources in
 * partial->failed and partial->changed. Returns 0, -EINTR if stop_requested(), or another
 * -errno. */
MUST_CHECK int sharing_run(struct partial *partial, struct sharing_result *result);

#endif
