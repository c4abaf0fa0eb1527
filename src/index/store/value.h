/* SPDX-License-Identifier: MIT */
#ifndef INDEX_STORE_VALUE_H
#define INDEX_STORE_VALUE_H

/* The tables, and the keys and values of their records; index/record.h describes the keys and
 * fields of each table. Pure code, any thread.
 *
 * A value in LMDB consists of the fields and a seal of 4 bytes: 4 bits of version and 28 bits of a
 * checksum over table, key and fields. The checksum detects a damaged record, and a record under a
 * wrong key or in a wrong table. Numbers use the codec of base/bytes.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/hash.h"

/* ---- tables ----------------------------------------------------------------------------- */

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

/* ---- keys ------------------------------------------------------------------------------- */

/* The keys of records. Numbers use the codec of base/bytes.h, which preserves their order. */

/* The largest key, in bytes. */
#define KEY_BYTES_MAX 64

/* A key that is being encoded or decoded. */
struct key {
	size_t length;
	uint8_t data[KEY_BYTES_MAX];
};

/* A key or record in LMDB; borrowed from the map, see the rules in index/store/store.h. */
struct span {
	const uint8_t *data;
	size_t length;
};

struct key key_number(uint64_t number);
struct key key_pair(uint64_t first, uint64_t second);
struct key key_triple(uint64_t first, uint64_t second, uint64_t third);
struct key key_quad(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth);
/* The first HASH_BYTES of the key are the hash, so that keys with the same hash are adjacent. */
#define HASH_BYTES 16
struct key key_hash(struct hash128 hash, uint32_t ordinal);
/* The first HASH_BYTES of the key are the hash. */
struct key key_tree(struct hash128 hash, uint64_t group, uint64_t dir);
/* These keys sort groups by reclaimable bytes, in descending order. */
struct key key_rank(uint64_t reclaimable, uint64_t group);

/* Decode keys. Return false if the key has more, fewer or other fields. */
MUST_CHECK bool key_get_pair(struct span key, uint64_t *first, uint64_t *second);
MUST_CHECK bool key_get_triple(struct span key, uint64_t *first, uint64_t *second, uint64_t *third);
MUST_CHECK bool key_get_quad(struct span key, uint64_t *first, uint64_t *second, uint64_t *third,
			     uint64_t *fourth);
MUST_CHECK bool key_get_number(struct span key, uint64_t *number);
MUST_CHECK bool key_get_tree(struct span key, struct hash128 *hash, uint64_t *group, uint64_t *dir);
MUST_CHECK bool key_get_rank(struct span key, uint64_t *reclaimable, uint64_t *group);

/* ---- values ----------------------------------------------------------------------------- */

/* The largest encoded record, in bytes. */
#define RECORD_BYTES_MAX 512

/* A record that is being encoded. The fields must fit. */
struct value {
	size_t length;
	uint8_t data[RECORD_BYTES_MAX];
};

struct value value_begin(void);
void value_put(struct value *value, uint64_t number);
void value_put_signed(struct value *value, int64_t number);
void value_put_bytes(struct value *value, const void *data, size_t length);

/* Appends 8 bytes, most significant first: a hash is shorter in this form than as a varint. */
void value_put_fixed(struct value *value, uint64_t number);

/* Completes the record: appends the seal. */
void value_seal(struct value *value, enum table table, const struct key *key);

/* Checks the seal, and sets *fields to the fields before it. Returns false if the record is
 * damaged. */
MUST_CHECK bool value_open(struct span stored, enum table table, struct span key,
			   struct span *fields);

/* Remove the first number from the fields. Return false if the fields do not begin with such a
 * number. Inline, as a walk of a known tree decodes a record for each file. */
MUST_CHECK static inline bool span_get(struct span *fields, uint64_t *number)
{
	const uint8_t *at = fields->data, *end = at + fields->length;

	if (!varint_get(&at, end, number))
		return false;
	*fields = (struct span){at, (size_t)(end - at)};
	return true;
}

MUST_CHECK static inline bool span_get32(struct span *fields, uint32_t *number)
{
	uint64_t wide;

	if (!span_get(fields, &wide) || wide > UINT32_MAX)
		return false;
	*number = (uint32_t)wide;
	return true;
}

MUST_CHECK static inline bool span_get_signed(struct span *fields, int64_t *number)
{
	const uint8_t *at = fields->data, *end = at + fields->length;

	if (!varint_get_signed(&at, end, number))
		return false;
	*fields = (struct span){at, (size_t)(end - at)};
	return true;
}

MUST_CHECK bool span_get_fixed(struct span *fields, uint64_t *number);

/* Records with one field, or with none. decode_number() returns false if the record is not one
 * number. */
struct value encode_number(uint64_t number);
struct value encode_text(const char *text, size_t length); /* of at most 480 bytes */
struct value encode_nothing(void);
MUST_CHECK bool decode_number(struct span fields, uint64_t *number);

#endif
