/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_CHECK_TABLES_H
#define CATALOG_CHECK_TABLES_H

/* The parts of check.h: the claims that must hold for one record of a table. Only check*.c include
 * this.
 *
 * Most tables are checked through other records that refer to their records. The check of a
 * referring record looks up the other record under its only possible key, and counts it as
 * expected. Different records refer to different keys. So if a table has as many records as are
 * expected, no record is missing and none is without a reference.
 */

#include "catalog/catalog.h"
#include "catalog/kept.h"
#include "store/store.h"
#include "store/value.h"

/* The key of a record in the table bytree. */
struct tree_key {
	struct hash128 sum;
	uint64_t group;
	uint64_t dir; /* 0: no record was read yet */
};

struct check {
	struct catalog_reader *reader;
	uint64_t met[TABLE_COUNT]; /* number of records that were read in each table */
	uint64_t expected[TABLE_COUNT]; /* number of records that other records refer to */
	struct kept_choice choice; /* for the places of files */
	uint64_t places; /* PLACES_VERSION of the index */
	struct catalog_totals stored; /* as recorded in the index */
	struct catalog_totals counted; /* from the records that were read */
	uint64_t entry_dir; /* directory whose names are being read; 0: none yet */
	struct tree_key tree; /* of the last complete directory that was read */
	uint64_t redundant; /* number of names of entry_dir so far that TABLE_REDUNDANT counts */
};

/* Converts the result of looking up a record that must exist: a missing one is damage. */
static inline int check_found(int r)
{
	return r == -ENOENT ? -EUCLEAN : r;
}

static inline int check_claim(bool holds)
{
	return holds ? 0 : -EUCLEAN;
}

/* Checks that the record with this key exists, and counts it as expected. */
MUST_CHECK static inline int check_expect(struct check *c, enum table table, struct key key)
{
	struct span fields;

	c->expected[table]++;
	return check_found(store_get(c->reader, table, &key, &fields));
}

/* Checks the redundant count of entry_dir, after all its names were read. */
MUST_CHECK int check_redundant(struct check *c);

/* Checks that a directory has a record of its folder, or a name that equals no other one. */
MUST_CHECK int check_has_folder(struct check *c, uint64_t dir);

/* Checks one record, given its key and its fields. Returns 0, -EUCLEAN or another -errno. */
typedef int check_record_fn(struct check *c, struct span key, struct span fields);
check_record_fn check_dir;
check_record_fn check_entry;
check_record_fn check_file;
check_record_fn check_bykey;
check_record_fn check_group;
check_record_fn check_extents;
check_record_fn check_unmapped;
check_record_fn check_error;
check_record_fn check_target;
check_record_fn check_folder;
check_record_fn check_tree;
check_record_fn check_folder_group;
check_record_fn check_blocks;
check_record_fn check_digest;

#endif
