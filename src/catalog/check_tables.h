/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_CHECK_TABLES_H
#define CATALOG_CHECK_TABLES_H

/* The parts of check.h: what must hold for one record of a table. Only check*.c include this.
 *
 * Most tables are proved from the other side: what refers to a record finds it under the one key
 * that it must have, and counts it as expected; different things refer to different keys. So when
 * a table has as many records as were expected, no record of it is missing and none is left over.
 */

#include "catalog/catalog.h"
#include "store/key.h"

struct check {
	struct catalog_reader *reader;
	uint64_t name_seed;
	uint64_t met[TABLE_COUNT]; /* records in the table */
	uint64_t expected[TABLE_COUNT]; /* records that something else in the index speaks of */
	struct catalog_totals stored;
	struct catalog_totals counted;
	uint64_t entry_dir; /* whose names are being read; 0: none yet */
	uint64_t redundant; /* what of them counts for TABLE_REDUNDANT, so far */
};

/* What was looked up must be there. */
static inline int check_found(int r)
{
	return r == -ENOENT ? -EUCLEAN : r;
}

static inline int check_claim(bool holds)
{
	return holds ? 0 : -EUCLEAN;
}

/* Something speaks of this record: it is there, and is counted as expected. */
MUST_CHECK int check_expect(struct check *c, enum table table, struct key key);

/* All names in entry_dir were met. */
MUST_CHECK int check_redundant(struct check *c);

/* One record each: its key, and its fields with the checksum taken off. 0, -EUCLEAN or -errno. */
typedef int check_record_fn(struct check *c, struct span key, struct span fields);
check_record_fn check_dir;
check_record_fn check_entry;
check_record_fn check_file;
check_record_fn check_bykey;
check_record_fn check_group;
check_record_fn check_error;

#endif
