/* SPDX-License-Identifier: MIT */
#ifndef INGEST_EARLY_LATE_H
#define INGEST_EARLY_LATE_H

/* Reads files after the walk committed their names, see early_tables.h. */

#include <stddef.h>
#include <stdint.h>

#include "ingest/ingest.h"

/* Uses the first bytes of the file with this number in the list. length is 0 if the file cannot be
 * read here: it stays unread. Several threads call this at the same time. */
typedef void early_late_fn(void *context, size_t number, uint64_t size, const uint8_t *bytes,
			   size_t length);

struct early_late {
	/* ids, borrowed; best in ascending order, which is that of directories */
	const uint64_t *files;
	size_t count;
	unsigned int threads; /* maximum number, at least 1 */
	early_late_fn *use;
	void *context;
};

/* Reads and proves the first bytes of files, and waits until all were used, or until
 * stop_requested(). Returns 0 or -errno. */
MUST_CHECK int early_read_late(const struct ingest *ingest, const struct early_late *late);

#endif
