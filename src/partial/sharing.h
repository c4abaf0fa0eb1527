/* SPDX-License-Identifier: MIT */
#ifndef PARTIAL_SHARING_H
#define PARTIAL_SHARING_H

/* Shares the runs of a plan. For the main thread, which starts further threads: each takes the next
 * run. */

#include <stdbool.h>

#include "base/attributes.h"
#include "partial/partial.h"

struct sharing_result {
	struct partial_count shared;
	struct partial_count differing; /* changed since the blocks were hashed */
	struct partial_count refused; /* failures; each destination was logged once */
	bool is_full; /* stopped, as the disk is full */
};

/* Shares the runs of partial->runs. Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int sharing_run(const struct partial *partial, struct sharing_result *result);

#endif
