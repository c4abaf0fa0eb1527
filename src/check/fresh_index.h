/* SPDX-License-Identifier: MIT */
#ifndef CHECK_FRESH_INDEX_H
#define CHECK_FRESH_INDEX_H

/* A second index of the same sources, built from nothing: the current state of the disk. The second
 * index is stored in a folder inside the folder of the first index, and is removed afterwards. The
 * two indexes have the same numbers for file systems, so that their records can be compared. For
 * the main thread.
 */

#include <stdbool.h>

#include "base/attributes.h"
#include "index/current_index.h"
#include "index/indexing.h"

/* All zero: none. */
struct fresh_index {
	struct indexing indexing;
	bool made; /* the folder of the index must be removed */
};

/* Builds the index: walks the sources and compares files, which can take as long as a first scan.
 * Shows its progress.
 *
 * index	borrowed until fresh_index_remove(); its catalog and sources must be open
 * settings	borrowed: scan options
 * contents	false: names only
 *
 * Returns 0, -EINTR if interrupted, or another -errno. Failures except -EINTR and -ENOMEM are
 * logged. */
MUST_CHECK int fresh_index_make(struct fresh_index *fresh, const struct current_index *index,
				const struct index_settings *settings, bool contents);

/* Closes the index and removes its folder. Logs a failure as a warning. Accepts all zero. */
void fresh_index_remove(struct fresh_index *fresh);

#endif
