/* SPDX-License-Identifier: MIT */
#ifndef INGEST_WALK_H
#define INGEST_WALK_H

/* The walk over the sources: lists every directory once, by descriptor, and hands the differences to
 * a batch writer. See ingest.h for what callers see. */

#include "base/attributes.h"
#include "ingest/batch.h"
#include "ingest/ingest.h"

/* Blocks until the walk is done; uses settings->threads threads. Figures go to
 * ingest->progress and ingest->result. 0 or -errno. */
MUST_CHECK int walk_sources(struct ingest *ingest, struct batch_writer *writer);

#endif
