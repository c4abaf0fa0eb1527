/* SPDX-License-Identifier: MIT */
#ifndef SCAN_WALK_H
#define SCAN_WALK_H

/* The walk over directories of the sources. It visits each directory once, by descriptor, and
 * passes the differences to a batch writer. */

#include "base/attributes.h"
#include "scan/batch.h"
#include "scan/early_reader.h"
#include "scan/ingest.h"

/* Rechecks count directories, as ingest_recheck() describes. Blocks until all rechecks are done or
 * stop_requested(). A large recheck uses threads of its own. Updates ingest->progress,
 * ingest->result and ingest->may_seek.
 *
 * early	records files that the walk reads; NULL: the walk reads none
 *
 * Returns 0 or -errno. */
MUST_CHECK int walk_rechecks(struct ingest *ingest, struct batch_writer *writer,
			     struct early_tables *early, const struct recheck *rechecks,
			     size_t count);

#endif
