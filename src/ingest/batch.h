/* SPDX-License-Identifier: MIT */
#ifndef INGEST_BATCH_H
#define INGEST_BATCH_H

/* Passes name changes to the catalog. Many threads put the changes of one directory at a time, and
 * one thread commits them in large transactions.
 *
 *   walkers --batch_writer_put--> [batch being filled] --full--> queue --> writer thread --> LMDB
 *
 * At most BATCHES_MAX batches exist. If all batches wait for the disk, the walkers wait for a free
 * batch.
 */

#include "base/attributes.h"
#include "catalog/change.h"
#include "ingest/ingest.h"

struct batch_writer;

/* Makes a writer. Its thread starts with the first full batch. A recheck with few changes starts no
 * thread. The thread that calls batch_writer_finish() then commits the changes.
 *
 * hooks	borrowed; called before each commit to find out whether renames are trusted; NULL:
 *		the sources are not followed
 * scan		the number for catalog_apply(), 0: a new one for each batch
 *
 * Returns 0 or -ENOMEM. */
MUST_CHECK int batch_writer_new(struct batch_writer **writer, struct catalog *catalog,
				const struct ingest_hooks *hooks, uint32_t scan);

/* Copies count changes and their names into a batch. Blocks while all batches wait for the disk.
 * Any thread. Returns 0, -ENOMEM, or the first error of the writer thread. */
MUST_CHECK int batch_writer_put(struct batch_writer *writer, const struct name_change *changes,
				size_t count);

/* Commits the remaining changes, ends the thread and frees the writer. Returns 0 or the first
 * error. */
MUST_CHECK int batch_writer_finish(struct batch_writer *writer);

#endif
