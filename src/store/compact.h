/* SPDX-License-Identifier: MIT */
#ifndef STORE_COMPACT_H
#define STORE_COMPACT_H

/* Compacts an index: writes a new data file from its records. */

#include "store/store.h"

/* Writes every record of the snapshot to a new data file, and syncs the file. Page headers, free
 * space in pages, counts and the list of free pages are not copied. (mdb_env_copy2 copies pages
 * including their headers.) Memory is bounded.
 *
 * path	an existing file is replaced
 *
 * Returns 0, or -errno and leaves no file. */
MUST_CHECK int store_copy(struct catalog_reader *r, const char *path);

#endif
