/* SPDX-License-Identifier: MIT */
#ifndef STORE_COMPACT_H
#define STORE_COMPACT_H

/* Compacts an index: writes a new data file from its records. */

#include "store/store.h"

/* Writes every record of the snapshot to a new data file, durably. Nothing else of LMDB is copied:
 * page headers, free space in pages, counts, the list of free pages. (mdb_env_copy2 copies pages
 * including their headers.) Memory is bounded.
 *
 * path	absolute; an existing file is replaced
 *
 * Returns 0, or -errno and leaves no file. */
MUST_CHECK int store_copy(struct catalog_reader *r, const char *path);

#endif
