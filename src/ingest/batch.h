/* SPDX-License-Identifier: MIT */
#ifndef INGEST_BATCH_H
#define INGEST_BATCH_H

/* The way of name changes to the catalog: many threads put the changes of one directory at a
 * time, one thread commits them in large transactions.
 *
 *   walkers --batch_writer_put--> [batch being filled] --full--> queue --> writer thread --> LMDB
 *
 * At most BATCHES_MAX batches exist; when all wait for the disk, walkers wait too.
 */

#include "base/attributes.h"
#include "catalog/change.h"
#include "ingest/ingest.h"

struct batch_writer;

/* Makes a writer. Its thread starts with the first full batch: the few changes of a recheck are
 * committed by the caller of batch_writer_finish().
 *
 * hooks	borrowed; asked before each commit how far renames are trusted; NULL: the sources are
 *		not followed
 * scan		the number for catalog_apply, 0: a new one for each batch
 *
 * Returns 0 or -ENOMEM. */
MUST_CHECK int batch_writer_new(struct batch_writer **writer, struct catalog *catalog,
				const struct ingest_hooks *hooks, uint32_t scan);

/* Takes copies of count changes and of their names. May wait. Any thread. Returns the first
 * error that the writer thread met. */
MUST_CHECK int batch_writer_put(struct batch_writer *writer, const struct name_change *changes,
				size_t count);

/* Commits what is left, ends the thread and frees; 0 or the first error. */
MUST_CHECK int batch_writer_finish(struct batch_writer *writer);

#endif
