/* SPDX-License-Identifier: MIT */
#ifndef FLEET_DIGEST_ROWS_H
#define FLEET_DIGEST_ROWS_H

/* Writes the digests of the wanted files as a set of rows (row_set.h), which twinfs(5) describes.
 * For one thread. */

#include <stdint.h>

#include "base/attributes.h"

struct catalog;
struct row_set;
struct sources;
struct wanted_files;

/* Member "format" of the manifest. */
#define DIGEST_ROWS_FORMAT "twinfs-digests"

/* All pointers are borrowed. */
struct digest_rows_task {
	struct catalog *catalog;
	const struct sources *sources;
	struct wanted_files *files; /* is sorted by id */
};

struct digest_rows_result {
	uint64_t rows;
	uint64_t unreadable; /* files that could not be read */
	/* Files without a row that change, or were not read because of an interrupt. */
	uint64_t pending;
};

/* Writes a row for each file whose digest is current now, and commits the set. Each snapshot of the
 * index is short. Returns 0, -EXDEV after a failure that was logged, or another -errno. */
MUST_CHECK int digest_rows_write(const struct digest_rows_task *task, struct row_set *set,
				 struct digest_rows_result *result);

#endif
