/* SPDX-License-Identifier: MIT */
#ifndef INGEST_WALK_H
#define INGEST_WALK_H

/* The walk over directories of the sources: looks at each once, by descriptor, and hands the
 * differences to a batch writer. See ingest.h for what callers see. */

#include "base/attributes.h"
#include "ingest/batch.h"
#include "ingest/ingest.h"

/* Looks at count directories and at what is below them, as each look says. Blocks until that is
 * done; uses settings->threads threads. Figures go to ingest->progress and ingest->result. 0 or
 * -errno. */
MUST_CHECK int walk_rechecks(struct ingest *ingest, struct batch_writer *writer,
			     const struct recheck *rechecks, size_t count);

#endif
