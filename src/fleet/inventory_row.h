/* SPDX-License-Identifier: MIT */
#ifndef FLEET_INVENTORY_ROW_H
#define FLEET_INVENTORY_ROW_H

/* Makes the rows of an inventory, each for a regular file with all its names. Rows of digests have
 * some of the same members. One thread at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "index/catalog.h"
#include "index/digests.h"
#include "index/group_name.h"
#include "row/fields.h"

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

/* Makes the row of a file that has a name. Returns 0 or -errno. Looks at the disk only for the
 * first file of each file system, for its st_dev. */
MUST_CHECK int row_maker_make(struct row_maker *maker, const struct file_record *file,
			      struct inventory_row *row);

/* As row_maker_make(), but sets only the members that say which file it is. */
MUST_CHECK int row_maker_identify(struct row_maker *maker, const struct file_record *file,
				  struct inventory_row *row);

void row_maker_deinit(struct row_maker *maker);

/* Makes the list of the sources for a manifest. The member source of a row is a number in this
 * list. The caller frees the list. Returns 0 or -ENOMEM. */
MUST_CHECK int rows_list_sources(const struct sources *sources, json_t **list);

#endif
