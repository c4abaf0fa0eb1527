/* SPDX-License-Identifier: MIT */
#ifndef INGEST_WALK_H
#define INGEST_WALK_H

/* The walk over directories of the sources. It visits each directory once, by descriptor, and
 * passes the differences to a batch writer. See ingest.h for the public functions. */

#include "base/attributes.h"
#include "ingest/batch.h"
#include "ingest/ingest.h"

/* Rechecks count directories. If the scope of a recheck includes the tree, rechecks the tree below
 * the directory. Blocks until all rechecks are done, with settings->threads threads. Adds figures
 * to ingest->progress and ingest->result. Returns 0 or -errno. */
MUST_CHECK int walk_rechecks(struct ingest *ingest, struct batch_writer *writer,
			     const struct recheck *rechecks, size_t count);

#endif
