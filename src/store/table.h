/* SPDX-License-Identifier: MIT */
#ifndef STORE_TABLE_H
#define STORE_TABLE_H

/* The tables of the index; catalog/record.h describes their keys and fields. Any thread. */

/* Tables in the order of their numbers, which are part of the checksum. */
enum table {
	TABLE_META,
	TABLE_DIR,
	TABLE_ENTRY,
	TABLE_FILE,
	TABLE_BYKEY,
	TABLE_BYSIZE,
	TABLE_CONTENT,
	TABLE_GROUP,
	TABLE_MEMBER,
	TABLE_BYHASH,
	TABLE_RANK,
	TABLE_LINK,
	TABLE_ERROR,
	TABLE_ORPHAN,
	TABLE_REDUNDANT,
	TABLE_PLACE,
	TABLE_TARGET,
	TABLE_FOLDER,
	TABLE_BYTREE,
	TABLE_FOLDERS,
	TABLE_FOLDER_RANK,
	TABLE_EXTENT,
	TABLE_UNMAPPED,
	TABLE_BLOCKS,
	TABLE_DIGEST,
	TABLE_COUNT,
};

/* Returns the name of a table in LMDB. */
const char *table_name(enum table table);

#endif
