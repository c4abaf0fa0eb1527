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
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/progress.h"
#include "fleet/row_set.h"
#include "index/catalog.h"
#include "index/hashes.h"
#include "index/query.h"
#include "row/fields.h"

/* ---- rows ----------------------------------------------------------------------------------- */

/* Makes the rows of an inventory, each for a regular file with all its names. Rows of digests have
 * some of the same members. One thread at a time. */

struct sources;

/* The st_dev of a file system of the index. */
struct row_device {
	uint32_t filesystem;
	dev_t device;
};

/* A name of the file that becomes a row. */
struct row_name {
	size_t path; /* offset in row_maker.paths */
	size_t length;
	uint32_t source;
};

/* All pointers to catalog and sources are borrowed. */
struct row_maker {
	const struct sources *sources;
	bool examines_disk; /* false: the sources can be absent, so that no st_dev is known */
	struct catalog_reader *reader; /* set by row_maker_begin() */
	/* the directory of the last name, and its path; 0: none */
	uint64_t dir;
	struct bytes dir_path;
	uint32_t dir_source;
	struct row_device *devices;
	size_t device_count, device_capacity;
	struct row_name *names;
	size_t name_count, name_capacity;
	struct bytes paths;
};

/* Uses another snapshot, which must stay open until the next call or the last row. */
void row_maker_begin(struct row_maker *maker, struct catalog_reader *reader);

/* A name of a file. */
struct row_path {
	uint32_t source; /* number in the list of the manifest */
	struct bytes path; /* below the source */
};

/* An inode or device number. */
struct row_number {
	uint64_t value;
	bool unknown;
};

/* A row of an inventory or of digests. A member that is 0 or empty is left out, unless it says
 * which file it is. Paths are valid until the next row is made. */
struct inventory_row {
	uint64_t id;
	struct row_path name; /* the first one by source and path */
	uint64_t size; /* bytes */
	int64_t mtime_ns, ctime_ns; /* since 1970 */
	struct row_number dev, ino;
	/* The members below do not say which file it is. */
	uint64_t names; /* number of all */
	const struct row_maker *links; /* has the further names */
	char group[GROUP_NAME_SIZE]; /* if it is one that is shown */
	uint8_t sha256[SHA256_BYTES];
	uint64_t state; /* file_digest() to which the SHA-256 belongs */
};
extern const struct field_table inventory_row_fields;

/* Makes the row of a file that has a name, with only the members that say which file it is. Looks
 * at the disk only for the first file of each file system, for its st_dev. Returns 0 or -errno. */
MUST_CHECK int row_maker_identify(struct row_maker *maker, const struct file_record *file,
				  struct inventory_row *row);

void row_maker_deinit(struct row_maker *maker);

/* Makes the list of the sources for a manifest. The member source of a row is a number in this
 * list. The caller frees the list. Returns 0 or -ENOMEM. */
MUST_CHECK int rows_list_sources(const struct sources *sources, json_t **list);

/* ---- the inventory -------------------------------------------------------------------------- */

#define INVENTORY_FORMAT "twinfs-inventory"

/* Outcome of await_changes() below: the index cannot be brought up to date. */
enum {
	INVENTORY_NOT_AWAITED = 1
};

/* All pointers are borrowed. */
struct inventory_task {
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
