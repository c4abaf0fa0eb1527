/* SPDX-License-Identifier: MIT */
#ifndef SCAN_BATCH_H
#define SCAN_BATCH_H

/* Passes name changes to the catalog. Many threads put the changes of one directory at a time, and
 * one thread commits them in large transactions.
 *
 *   walkers --batch_writer_put--> [batch being filled] --full--> queue --> writer thread --> LMDB
 *
 * At most three batches exist. While all are queued or being committed, the walkers wait.
 */

#include "base/attributes.h"
#include "index/change.h"
#include "scan/early_files.h"
#include "scan/ingest.h"

struct batch_writer;
struct early_writer;

/* Makes a writer. Its thread starts after some thousand changes. With fewer changes,
 * batch_writer_finish() commits them in the calling thread.
 *
 * hooks	borrowed; hooks->trust is called before a commit that depends on trusted renames;
 *		NULL: the sources are not followed
 * of_scan	the files get the number of the scan; false: each batch gets a number
 * early	borrowed; records the files that the walk reads; NULL: the walk reads none
 *
 * Returns 0 or -ENOMEM. */
MUST_CHECK int batch_writer_new(struct batch_writer **writer, struct catalog *catalog,
				const struct ingest_hooks *hooks, bool of_scan,
				struct early_writer *early);

/* Notes that the changes possibly remove names. Must be called before the first put. */
void batch_writer_note_removals(struct batch_writer *writer);

/* Copies count changes and their names into batches. Blocks while all batches are queued or being
 * committed. Any thread. Returns 0, -ENOMEM, or the first error of the writer thread. */
MUST_CHECK int batch_writer_put(struct batch_writer *writer, const struct name_change *changes,
				size_t count);

/* Commits the remaining changes unless an earlier commit failed. Ends the thread and frees the
 * writer.
 *
 * complete	the recheck did not end early, so no change is missing
 *
 * Returns 0 or the first error of the writer thread. */
MUST_CHECK int batch_writer_finish(struct batch_writer *writer, bool complete);

#endif
