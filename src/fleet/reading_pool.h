/* SPDX-License-Identifier: MIT */
#ifndef FLEET_READING_POOL_H
#define FLEET_READING_POOL_H

/* Reads contents in parallel, or one after the other in the order of a disk that seeks, and shows
 * the progress. For the main thread, which starts further threads.
 *
 *	main thread: order of the contents
 *	   v
 *	reading threads (one if the disk seeks): task->read for each content
 *	   v
 *	reading threads: task->read once more for each content, when all others were read
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/hash.h"
#include "base/progress.h"
#include "scan/ingest.h"
#include "scan/reading.h"

struct sources;
struct reading_pool;

/* What a reading thread has. */
struct pool_thread {
	struct reading_pool *pool;
	struct file_opener opener;
	struct file_sha256 reader; /* counts the bytes for the progress */
	/* Its lease is checked while the reader reads: if a program breaks it, the reader ends with
	 * -EBUSY. NULL: none. */
	const struct reading *held;
	bool again; /* the contents are read once more */
};

/* All pointers are borrowed. The callbacks of one content are not called at the same time. */
struct reading_pool_task {
	const struct sources *sources;
	size_t count; /* of the contents */
	uint64_t bytes; /* of all contents */
	const char *label; /* of the progress */
	enum progress_when progress;
	enum ingest_disk disk;
	/* Opens a file of a content, for its place on the disk. Nothing has to be proved. Sets
	 * *size to its bytes. Returns a descriptor or -errno. */
	int (*open)(void *context, size_t content, uint64_t *size);
	/* Returns the place of a content in the order if the disk does not seek. */
	uint64_t (*place)(const void *context, size_t content);
	/* Reads a content. thread->again: only if it should be tried once more. Returns 0, or a
	 * failure that concerns all contents. */
	int (*read)(void *context, struct pool_thread *thread, size_t content);
	void *context;
};

/* Reads the contents. Returns 0, -EINTR if stop_requested(), or the first failure of task->read. */
MUST_CHECK int reading_pool_run(const struct reading_pool_task *task);

/* Returns whether a failure to read a file concerns all files, so that no further one is read. */
bool reading_pool_ends(int result);

#endif
