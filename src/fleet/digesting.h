/* SPDX-License-Identifier: MIT */
#ifndef FLEET_DIGESTING_H
#define FLEET_DIGESTING_H

/* Reads the wanted files whose digests are not known. For the main thread, which starts further
 * threads.
 *
 *	main thread: units of equal files (wanted_files.h)
 *	   v
 *	reading threads (reading_pool.h): read one file of each unit, proved by scan/reading.h; if
 *	   that is not possible, the next one
 *	   v
 *	digesting.c: to the index, unless another process holds it
 *
 * A file that changes while it is read has no digest. Files that a process can write to, or that
 * changed a moment ago, are tried once more when all others were read.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/progress.h"
#include "scan/ingest.h"

struct catalog;
struct row_set;
struct sources;
struct wanted_files;

/* All pointers are borrowed. */
struct digesting_task {
	struct catalog *catalog;
	const struct sources *sources;
	struct wanted_files *files; /* gets the digests */
	enum progress_when progress;
	enum ingest_disk disk;
	bool keeps_digests; /* this process can write to the index */
};

/* Reads the files. After a failure, too, each file that was read has its digest, also in the index
 * if it can be written. Failures of single files and of the index are logged. Returns 0, -EINTR if
 * stop_requested(), or another -errno that concerns all files. */
MUST_CHECK int digesting_run(const struct digesting_task *task);

/* ---- digest rows ---------------------------------------------------------------------------- */

/* Writes the digests of the wanted files as a set of rows (row_set.h), which twinfs(5) describes.
 * For one thread. */

/* Member "format" of the manifest. */
#define DIGEST_ROWS_FORMAT "twinfs-digests"

/* All pointers are borrowed. */
struct digest_rows_task {
	struct catalog *catalog;
	const struct sources *sources;
	struct wanted_files *files; /* is sorted by id */
};

struct digest_rows_result {
	uint64_t rows;
	uint64_t unreadable; /* files that could not be read */
	/* Files without a row that change, or were not read because of an interrupt. */
	uint64_t pending;
};

/* Writes a row for each file whose digest is current now, and commits the set. Each snapshot of the
 * index is short. Returns 0, -EXDEV after a failure that was logged, or another -errno. */
MUST_CHECK int digest_rows_write(const struct digest_rows_task *task, struct row_set *set,
				 struct digest_rows_result *result);

#endif
