/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_PENDING_FILES_H
#define DAEMON_PENDING_FILES_H

/* Files whose content is not in the index, by reason. Any thread; each call uses its own
 * snapshot. */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "catalog/catalog.h"

/* Ids of files; all zero at first. */
struct pending_files {
	struct bytes waiting; /* to be compared; ascending */
	struct bytes failed; /* could not be read, because of a temporary error */
	/* Could not be read. They need not be read, as no other file has the same size. */
	struct bytes alone;
};

/* Finds the unread files of these sizes. Leaves out files with a permanent error. Returns 0 or
 * -errno. */
MUST_CHECK int pending_files_find(struct pending_files *pending, struct catalog *catalog,
				  const uint64_t *sizes, size_t count);

/* Appends the ids of all files that could not be read, for any reason. Returns 0 or -errno. */
MUST_CHECK int pending_files_find_failed(struct catalog *catalog, struct bytes *files);

/* Removes the read errors of the files in pending->alone from the index. Returns 0 or -errno. */
MUST_CHECK int pending_files_forgive(const struct pending_files *pending, struct catalog *catalog);

void pending_files_free(struct pending_files *pending);

#endif
