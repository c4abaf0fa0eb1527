/* SPDX-License-Identifier: MIT */
#ifndef FLEET_ATTESTING_H
#define FLEET_ATTESTING_H

/* Reads the files of a keep list from the disk, and finds out which contents are surely there. For
 * the main thread, which starts further threads (reading_pool.h).
 *
 *	1. the file system of a file is synced before its first file is read
 *	2. each file is opened below its source and held with a lease (scan/reading.h), its cached
 *	   pages are dropped, its bytes are hashed, and its name must still lead to it
 *	3. the file systems are synced once more: the bytes and names that were read are on the disk
 *
 * A file that cannot be held is tried once more when all others were read. Nothing in the index is
 * believed, and the index is not changed.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/progress.h"
#include "fleet/file_list.h"
#include "scan/ingest.h"

struct sources;

enum attested_state {
	ATTESTED_UNREAD,
	ATTESTED_KEPT,
	ATTESTED_MISSING, /* no file has the name, or a symlink or mount point is in the path */
	ATTESTED_CHANGED, /* other bytes, another type of file, or it changed while it was read */
	ATTESTED_UNREADABLE,
	ATTESTED_BUSY, /* a program can write to it, or it changed a moment ago */
	ATTESTED_IN_TRASH,
	ATTESTED_REMOTE, /* on a file system that other hosts or a program can serve */
	ATTESTED_IN_MEMORY, /* on a file system that the next restart empties */
	ATTESTED_IN_SNAPSHOT,
	ATTESTED_IN_CACHE,
	ATTESTED_IN_STORE, /* its program can change or delete it (index/managed.h) */
};
#define ATTESTED_STATES (ATTESTED_IN_STORE + 1)

/* The result for a row of the keep list. */
struct attested {
	enum attested_state state;
	int error; /* -errno, if the file is unreadable */
	/* of the file, if it is kept */
	uint64_t inode;
	int64_t born_ns; /* time of birth; 0: unknown */
};

/* All pointers are borrowed. */
struct attesting_task {
	const struct sources *sources; /* of the index */
	const struct file_list *list; /* FILE_LIST_KEEP */
	const size_t *numbers; /* listed_sources_find() */
	struct attested *results; /* of each row; all zero */
	enum progress_when progress;
	enum ingest_disk disk;
};

/* Reads the files, and logs each one that is not kept. Returns 0, -EINTR if stop_requested(), or
 * another -errno that concerns all files: nothing may be attested. Failures are logged, except
 * -EINTR and -ENOMEM. */
MUST_CHECK int attesting_run(const struct attesting_task *task);

/* Returns the reason in an attestation why a content is not kept: "changed". */
const char *attested_reason(enum attested_state state);

#endif
