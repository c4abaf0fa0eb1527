/* SPDX-License-Identifier: MIT */
#ifndef INGEST_SIZES_H
#define INGEST_SIZES_H

/* Adds the files that a large walk left out of the list by size (catalog_defer_sizes) to that list.
 * The files are sorted first, so that each page of the list is written once. One thread. */

#include <stddef.h>

#include "base/attributes.h"
#include "catalog/catalog.h"

/* Number of files that are sorted at a time: 16 MiB, and as much again during the sort. Each such
 * run writes most of the list once. */
#define SIZES_RUN_FILES ((size_t)1 << 20)

/* Adds all files that were left out. After a stop or a failure, the files that were already added
 * stay in the list. Returns 0 or -errno. */
MUST_CHECK int ingest_list_sizes(struct catalog *catalog, size_t run_files);

#endif
