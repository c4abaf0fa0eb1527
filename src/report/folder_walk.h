/* SPDX-License-Identifier: MIT */
#ifndef REPORT_FOLDER_WALK_H
#define REPORT_FOLDER_WALK_H

/* Visits all names below a directory of an index. One thread at a time. Takes 8 bytes for each
 * directory that waits. */

#include <stdint.h>

#include "base/attributes.h"
#include "catalog/record.h"

struct catalog_reader;

/* Visits a name. Returns 0 to continue, or another result, which ends the walk. */
typedef int folder_walk_fn(void *context, const struct entry_record *entry);

/* Returns 0, -EINTR if stop_requested(), what visit returned, or another -errno. */
MUST_CHECK int folder_walk(struct catalog_reader *reader, uint64_t dir, folder_walk_fn *visit,
			   void *context);

#endif
