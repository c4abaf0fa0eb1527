/* SPDX-License-Identifier: MIT */
#ifndef STORE_COMPACT_H
#define STORE_COMPACT_H

/* An index written anew from its records. */

#include "store/store.h"

/* Writes every record of the snapshot to a new data file, durably. So nothing that LMDB keeps
 * beside the records is taken over: page headers, room in pages, counts, the list of free pages.
 * (mdb_env_copy2 copies pages, with what their headers say of them.) Memory is bounded.
 *
 * path	absolute; a file that is there is replaced
 *
 * 0 or -errno, upon which no file is left. */
MUST_CHECK int store_copy(struct catalog_reader *r, const char *path);

#endif
