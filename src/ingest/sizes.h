/* SPDX-License-Identifier: MIT */
#ifndef INGEST_SIZES_H
#define INGEST_SIZES_H

/* Completes the lists of files by size and by group after a walk that deferred them
 * (catalog_defer_lists()). Files are sorted before they are added, so that pages of the lists are
 * written only a few times. One thread. */

#include <stddef.h>

#include "base/attributes.h"
#include "catalog/catalog.h"

/* Number of files that are sorted and added at a time. They take 10 MiB, and 22 MiB more during the
 * sort. A first scan of 400,000 files takes 75 MiB if all are sorted at once, and 58 MiB so. */
#define SIZES_RUN_FILES ((size_t)1 << 18)

/* Adds all deferred files to the lists, run_files at a time. After a stop or a failure, the next
 * call continues. Returns 0, also after a stop, or -errno. */
MUST_CHECK int ingest_list_sizes(struct catalog *catalog, size_t run_files);

#endif
