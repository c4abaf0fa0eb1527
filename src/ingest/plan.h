/* SPDX-License-Identifier: MIT */
#ifndef INGEST_PLAN_H
#define INGEST_PLAN_H

/* Which files have to be read: those that were not, of sizes that two files or more share. They
 * are taken in windows of whole sizes, as many as memory holds, and each window is read in the
 * order of directories. One thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/hash.h"
#include "catalog/catalog.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "ingest/ingest.h"

/* A file to be read, 64 bytes: a window holds many. */
struct candidate {
	uint64_t file;
	uint64_t size;
	uint64_t digest; /* file_digest when it was read */
	struct hash128 hash; /* of its first bytes */
	uint64_t place; /* on the disk, see order.h; 0: nobody asked */
	uint32_t next; /* another one in a chain: its place in the window + 1, or 0 */
	bool rivals; /* files of its size were compared before, or in an earlier window */
	bool read; /* digest and hash are filled in */
};

struct plan {
	struct catalog *catalog; /* borrowed */
	struct size_entry position; /* where the next window begins */
	size_t window_files; /* so many at most */
	bool skip_errors; /* leave out files whose reading failed, but for sizes->again */
	const struct ingest_sizes *sizes; /* only these; NULL: all of the range */
	struct ingest_range range;
	size_t next_size; /* of these, the one behind that at position */
	bool split; /* the last window ended within a size */
};

struct window {
	struct candidate *list;
	size_t count;
	size_t capacity;
};

/* A plan for a range of sizes, from min_size up as the catalog has it; or for some sizes. The
 * caller has filled in catalog, window_files, skip_errors, range and sizes. */
MUST_CHECK int plan_begin(struct plan *plan);

/* Fills the window with the next candidates, ordered by file id; it is empty at the end. What was
 * in the window before may still be on its way to the index. */
MUST_CHECK int plan_next(struct plan *plan, struct window *window);

/* Is nothing left for a next window? */
bool plan_is_done(const struct plan *plan);

void window_free(struct window *window);

#endif
