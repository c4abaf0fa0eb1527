/* SPDX-License-Identifier: MIT */
#ifndef INDEX_STORE_COMPACT_H
#define INDEX_STORE_COMPACT_H

/* Compacts an index: writes a new data file from its records. */

#include <stdbool.h>

#include "index/store/store.h"

/* Writes every record of the snapshot to a new data file, and syncs the file. Page headers, free
 * space in pages, counts and the list of free pages are not copied. (mdb_env_copy2 copies pages
 * including their headers.) Memory is bounded.
 *
 * path	an existing file is replaced
 *
 * Returns 0, or -errno and leaves no file. */
MUST_CHECK int store_copy(struct catalog_reader *r, const char *path);

/* Sets *wasteful to whether a copy would be smaller by more than a sixth. Free pages and pages that
 * are half empty take the space: changes leave both. An index below 16 MiB is never wasteful. Reads
 * the headers of all records (15 ms for a million), but only if this process wrote many. Returns 0
 * or -errno. */
MUST_CHECK int store_is_wasteful(struct catalog_reader *r, bool *wasteful);

#endif
