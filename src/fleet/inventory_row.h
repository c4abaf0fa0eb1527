/* SPDX-License-Identifier: MIT */
#ifndef FLEET_INVENTORY_ROW_H
#define FLEET_INVENTORY_ROW_H

/* Makes the rows of an inventory: JSON objects, each for a regular file with all its names. Rows of
 * digests have some of the same members. One thread at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "catalog/catalog.h"
#include "catalog/digests.h"

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

/* Makes the row of a file that has a name. Returns 0 or -errno. Looks at the disk only for the
 * first file of each file system, for its st_dev. */
MUST_CHECK int row_maker_make(struct row_maker *maker, const struct file_record *file,
			      json_t **row);

/* As row_maker_make(), but the row has only the members that say which file it is: id, source,
 * path, size, mtime_ns, ctime_ns, dev and ino. */
MUST_CHECK int row_maker_identify(struct row_maker *maker, const struct file_record *file,
				  json_t **row);

/* Adds the SHA-256 to a row. Returns 0 or -ENOMEM. */
MUST_CHECK int row_add_digest(json_t *row, const uint8_t digest[SHA256_BYTES]);

void row_maker_deinit(struct row_maker *maker);

/* Makes the list of the sources for a manifest. The member source of a row is a number in this
 * list. The caller frees the list. Returns 0 or -ENOMEM. */
MUST_CHECK int rows_list_sources(const struct sources *sources, json_t **list);

#endif
