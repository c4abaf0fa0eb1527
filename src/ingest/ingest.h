/* SPDX-License-Identifier: MIT */
#ifndef INGEST_INGEST_H
#define INGEST_INGEST_H

/* From disk to catalog: brings the index up to date with its sources.
 *
 * First ingest_names, which walks the sources, then ingest_contents, which reads what has to be
 * compared and commits the classes of byte-equal files. A first scan and a rescan are the same:
 * what the index knows already, and the file system does not contradict, is not read again.
 *
 * Both block for as long as it takes and use threads of their own; call them one after the other
 * from one thread. They return early, with what is done committed, when stop_requested().
 * Everything that cannot be read is logged once with its path, noted in the catalog as an error,
 * and counted.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "catalog/catalog.h"
#include "catalog/source.h"

struct ingest_settings {
	uint64_t min_size; /* smaller files are never compared; 0: empty files are groups too */
	char *const *excludes; /* NULL-terminated globs, borrowed; NULL: none */
	bool cross_mounts;
	unsigned int threads; /* 0: one per processor */
	/* Waits for files that were written a moment ago, or are open for writing, to come to rest
	 * for at most this long, then leaves them pending. */
	unsigned int patience_ms;
};

/* Figures that another thread may read while the work goes on. */
struct ingest_progress {
	_Atomic uint64_t names; /* seen by the walk */
	_Atomic uint64_t candidates; /* files that may have to be read */
	_Atomic uint64_t candidate_bytes;
	_Atomic uint64_t compared; /* of these, done */
	_Atomic uint64_t compared_bytes;
};

struct ingest_result {
	uint64_t errors; /* could not be read */
	uint64_t pending; /* left for later: being written */
	uint64_t not_entered; /* directories on other file systems, left out as asked */
	uint64_t excluded; /* names left out by a glob */
	bool stopped;
};

struct ingest {
	struct catalog *catalog; /* these three borrowed */
	const struct sources *sources;
	const struct ingest_settings *settings;
	struct ingest_progress progress;
	struct ingest_result result;
};

/* Makes directories, names and attributes of the index those of the sources. When it returns 0
 * every name is there; -errno when the index could not be written. */
MUST_CHECK int ingest_names(struct ingest *ingest);

/* Compares the content of all files whose size is not theirs alone and that are not known, and
 * commits the result bit by bit. */
MUST_CHECK int ingest_contents(struct ingest *ingest);

#endif
