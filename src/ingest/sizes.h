/* SPDX-License-Identifier: MIT */
#ifndef INGEST_SIZES_H
#define INGEST_SIZES_H

/* Completes the list of files by size after a walk that deferred it (catalog_defer_sizes()). Files
 * are sorted by size before they are added, so that pages of the list are written only a few times.
 * One thread. */

#include <stddef.h>

#include "base/attributes.h"
#include "catalog/catalog.h"

/* Number of files that are sorted and added at a time. They take 16 MiB, and as much again during
 * the sort. Adding them writes most pages of the list once. */
#define SIZES_RUN_FILES ((size_t)1 << 20)

/* Adds all deferred files to the list, run_files at a time. After a stop or a failure, the next
 * call continues. Returns 0, also after a stop, or -errno. */
MUST_CHECK int ingest_list_sizes(struct catalog *catalog, size_t run_files);

#endif
