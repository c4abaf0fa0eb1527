/* SPDX-License-Identifier: MIT */
#ifndef SCAN_CANDIDATES_H
#define SCAN_CANDIDATES_H

/* Chooses the candidates: unread files of a size that two or more files have. They are divided into
 * windows. A window has all candidates of as many sizes as fit. Candidates of one size that do
 * not fit in a window are split between windows. One thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/hash.h"
#include "index/catalog.h"
#include "index/query.h"
#include "index/scan.h"
#include "scan/ingest.h"

/* A file to be read. The struct is small (56 bytes), as a window has many candidates. */
struct candidate {
	uint64_t file;
	uint64_t size;
	uint64_t digest; /* file_digest() when it was read */
	struct hash128 hash; /* of its first bytes */
	uint64_t place; /* position on the disk, see disk_order.h; 0: not known */
	uint32_t next; /* index in the window + 1 of the next candidate in a chain, or 0 */
	/* other files of its size were compared before this run or in an earlier window */
	bool rivals;
};

struct candidates {
	struct catalog *catalog; /* borrowed */
	struct size_entry position; /* where the next window begins */
	size_t window_files; /* maximum number of files */
	bool skip_errors; /* skip files that could not be read, unless sizes->again returns true */
	const struct ingest_sizes *sizes; /* only these sizes; NULL: the whole range */
	struct ingest_range range;
	size_t next_size; /* index in sizes of the size after position */
	bool split; /* the last window has a part of the files of a size */
};

struct window {
	struct candidate *list;
	size_t count;
	size_t capacity;
};

/* Begins with the first size. Sizes below the minimum size in the catalog are skipped. The caller
 * must set catalog, window_files, skip_errors, range and sizes first, and all other fields to zero.
 * Returns 0 or -errno. */
MUST_CHECK int candidates_begin(struct candidates *candidates);

/* Fills the window with the next candidates, ordered by file id. If no candidates are left, the
 * window is empty. Results of the previous window need not be committed before this call. Returns 0
 * or -errno. */
MUST_CHECK int candidates_next(struct candidates *candidates, struct window *window);

/* Returns true if no candidates are left. */
bool candidates_are_done(const struct candidates *candidates);

void window_free(struct window *window);

#endif
