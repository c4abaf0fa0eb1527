/* SPDX-License-Identifier: MIT */
#ifndef FLEET_INVENTORY_H
#define FLEET_INVENTORY_H

/* The inventory of a host: what its index knows of each regular file, as a set of rows (row_set.h).
 *
 * The rows are read from many short snapshots, in the order of file ids, and written between them.
 * So no read transaction waits for a disk. Each row is true at the moment of its snapshot. A file
 * of the index has at most one row, and has one if it was in the sources all the time, even if it
 * was renamed; the result has the number of exceptions. If a name got another inode meanwhile, both
 * can have rows with this name.
 *
 * For one thread. Linear in files; takes memory for 2,048 rows, and for the ids of files that are
 * renamed or removed meanwhile.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/progress.h"
#include "fleet/row_set.h"

#define INVENTORY_FORMAT "twinfs-inventory"

struct catalog;
struct sources;

/* Outcome of await_changes() below: the index cannot be brought up to date. */
enum {
	INVENTORY_NOT_AWAITED = 1
};

/* All pointers are borrowed. */
struct inventory_task {
	struct catalog *catalog;
	const struct sources *sources;
	bool examines_disk; /* false: the sources can be absent */
	bool outdated; /* the index lacks changes; the manifest then has one error more */
	enum progress_when progress;
	/* Waits until all changes of the sources before the call are in the index. A file that is
	 * renamed has no name for a moment, between two transactions of the process that maintains
	 * the index. NULL: no process does. Returns 0, INVENTORY_NOT_AWAITED or -errno. */
	int (*await_changes)(void *context);
	void *context;
};

struct inventory_result {
	uint64_t rows;
	uint64_t errors; /* files and folders that could not be read */
	uint64_t pending; /* files that are not compared yet */
	/* Files without a row, as they had no name whenever they were examined. The manifest adds
	 * them to the pending ones. */
	uint64_t missed;
	bool changed; /* the index changed between two snapshots */
};

/* Adds all rows to the set, and commits the set. The thread must have no reader. Blocks for the
 * disk. Returns 0, -EINTR if stop_requested(), -EXDEV (logged), or another -errno. */
MUST_CHECK int inventory_write(const struct inventory_task *task, struct row_set *set,
			       struct inventory_result *result);

#endif
