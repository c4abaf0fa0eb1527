/* SPDX-License-Identifier: MIT */
#ifndef INGEST_SIZES_H
#define INGEST_SIZES_H

/* Lists by size the files that a large walk left out of that list (catalog_defer_sizes), sorted, so
 * that each page of it is written once and not for every few files. One thread. */

#include <stddef.h>

#include "base/attributes.h"
#include "catalog/catalog.h"

/* Files to sort at a time: 16 MiB, and as much again while they are. Each run of them writes most
 * of the list once. */
#define SIZES_RUN_FILES ((size_t)1 << 20)

/* All of them. What was listed when it is stopped, fails or the process ends stays so. 0 or
 * -errno. */
MUST_CHECK int ingest_list_sizes(struct catalog *catalog, size_t run_files);

#endif
