/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_PENDING_FILES_H
#define DAEMON_PENDING_FILES_H

/* Which files the index has not read, and why. Any thread, in a snapshot of its own. */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "catalog/catalog.h"

/* Ids of files; all zero at first. */
struct pending_files {
	struct bytes waiting; /* to be compared; ascending */
	struct bytes failed; /* could not be read, and may be another time */
	/* Could not be read, and need not be: there is no other of their size. */
	struct bytes alone;
};

/* Files of these sizes that are still unread. What could not be read for good is left out. 0 or
 * -errno. */
MUST_CHECK int pending_files_find(struct pending_files *pending, struct catalog *catalog,
				  const uint64_t *sizes, size_t count);

/* Appends every file that could not be read, for whatever reason. 0 or -errno. */
MUST_CHECK int pending_files_find_failed(struct catalog *catalog, struct bytes *files);

/* Forgets that those could not be read which need not be. 0 or -errno. */
MUST_CHECK int pending_files_forgive(const struct pending_files *pending, struct catalog *catalog);

void pending_files_free(struct pending_files *pending);

#endif
