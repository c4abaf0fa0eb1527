/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_PENDING_FILES_H
#define VIEW_FOLLOW_PENDING_FILES_H

/* Files whose content is not in the index, by reason. Any thread; each call uses its own
 * snapshot. */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "index/catalog.h"
#include "view/follow/backoff.h"

/* Arrays of file ids; all zero at first. */
struct pending_files {
	struct bytes waiting; /* files to be compared; ascending */
	struct bytes failed; /* files that could not be read, because of a temporary error */
	/* Files that could not be read, because of any error. Each is now the only file of its
	 * size, so it need not be read. */
	struct bytes alone;
};

/* Finds the unread files of these sizes. The only file of a size is not in waiting or failed.
 * Returns 0 or -errno. */
MUST_CHECK int pending_files_find(struct pending_files *pending, struct catalog *catalog,
				  const uint64_t *sizes, size_t count);

/* Appends the ids of all files that could not be read, for any reason. Returns 0 or -errno. */
MUST_CHECK int pending_files_find_failed(struct catalog *catalog, struct due_files *files);

/* Removes the read errors of the files in pending->alone from the index. Returns 0 or -errno. */
MUST_CHECK int pending_files_forgive(const struct pending_files *pending, struct catalog *catalog);

void pending_files_free(struct pending_files *pending);

#endif
