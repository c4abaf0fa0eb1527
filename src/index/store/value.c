/* SPDX-License-Identifier: MIT */
#include "index/store/value.h"

#include <string.h>

#include "base/bytes.h"

/* ---- tables ------------------------------------------------------------------------- */

static const char *const table_names[TABLE_COUNT] = {
	[TABLE_META] = "meta",
	[TABLE_DIR] = "dir",
	[TABLE_ENTRY] = "entry",
	[TABLE_FILE] = "file",
	[TABLE_BYKEY] = "bykey",
	[TABLE_BYSIZE] = "bysize",
	[TABLE_CONTENT] = "content",
	[TABLE_GROUP] = "group",
	[TABLE_MEMBER] = "member",
	[TABLE_BYHASH] = "byhash",
	[TABLE_RANK] = "rank",
	[TABLE_LINK] = "link",
	[TABLE_ERROR] = "error",
	[TABLE_ORPHAN] = "orphan",
	[TABLE_REDUNDANT] = "redundant",
	[TABLE_PLACE] = "place",
	[TABLE_TARGET] = "target",
	[TABLE_FOLDER] = "folder",
	[TABLE_BYTREE] = "bytree",
	[TABLE_FOLDERS] = "folders",
	[TABLE_FOLDER_RANK] = "folderrank",
	[TABLE_EXTENT] = "extent",
	[TABLE_UNMAPPED] = "unmapped",
	[TABLE_BLOCKS] = "blocks",
	[TABLE_DIGEST] = "digest",
};

const char *table_name(enum table table)
{
	return table_names[table];
}

/* ---- keys --------------------------------------------------------------------------- */

static void key_add(struct key *key, uint64_t number)
{
	key->length = (size_t)(varint_put(key->data + key->length, number) - key->data);
}

static void key_add_fixed(struct key *key, uint64_t number)
{
	for (int shift = 56; shift >= 0; shift -= 8)
		key->data[key->length++] = (uint8_t)(number >> shift);
}

struct key key_number(uint64_t number)
{
	struct key key = {0};

	key_add(&key, number);
	return key;
}

struct key key_pair(uint64_t first, uint64_t second)
{
	struct key key = {0};

	key_add(&key, first);
	key_add(&key, second);
	return key;
}

struct key key_triple(uint64_t first, uint64_t second, uint64_t third)
{
	struct key key = key_pair(first, second);

	key_add(&key, third);
	return key;
}

struct key key_quad(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
	struct key key = key_triple(first, second, third);

	key_add(&key, fourth);
	return key;
}

struct key key_hash(struct hash128 hash, uint32_t ordinal)
{
	struct key key = {0};

	key_add_fixed(&key, hash.high);
	key_add_fixed(&key, hash.low);
	key_add(&key, ordinal);
	return key;
}

struct key key_tree(struct hash128 hash, uint64_t group, uint64_t dir)
{
	struct key key = key_hash(hash, 0);

	key.length = HASH_BYTES;
	key_add(&key, group);
	key_add(&key, dir);
	return key;
}

struct key key_rank(uint64_t reclaimable, uint64_t group)
{
	struct key key = {0};

	key_add_fixed(&key, ~reclaimable);
	key_add(&key, group);
	return key;
}

static bool get_numbers(struct span span, uint64_t *numbers[], size_t count)
{
	const uint8_t *at = span.data, *end = span.data + span.length;

	for (size_t i = 0; i < count; i++) {
		if (!varint_get(&at, end, numbers[i]))
			return false;
	}
	return at == end;
}

bool key_get_number(struct span key, uint64_t *number)
{
	return get_numbers(key, (uint64_t *[]){number}, 1);
}

bool key_get_pair(struct span key, uint64_t *first, uint64_t *second)
{
	return get_numbers(key, (uint64_t *[]){first, second}, 2);
}

bool key_get_triple(struct span key, uint64_t *first, uint64_t *second, uint64_t *third)
{
	return get_numbers(key, (uint64_t *[]){first, second, third}, 3);
}

bool key_get_quad(struct span key, uint64_t *first, uint64_t *second, uint64_t *third,
		  uint64_t *fourth)
{
	return get_numbers(key, (uint64_t *[]){first, second, third, fourth}, 4);
}

bool key_get_tree(struct span key, struct hash128 *hash, uint64_t *group, uint64_t *dir)
{
	return span_get_fixed(&key, &hash->high) && span_get_fixed(&key, &hash->low) &&
	       key_get_pair(key, group, dir);
}

bool key_get_rank(struct span key, uint64_t *reclaimable, uint64_t *group)
{
	uint64_t inverted;

	if (!span_get_fixed(&key, &inverted))
		return false;
	*reclaimable = ~inverted;
	return key_get_number(key, group);
}

/* ---- values ------------------------------------------------------------------------- */

/* The upper bits of the seal. No record of another format is ever read, as the format of the index
 * is checked first (include/twinfs/format.h). So another version means damage. */
#define RECORD_VERSION 2
#define VERSION_SHIFT 28
#define SEAL_BYTES 4

/* Returns the last SEAL_BYTES of a record with these fields. */
static uint32_t seal_of(enum table table, struct span key, struct span fields)
{
	uint64_t hash = hash64(key.data, key.length, (uint64_t)table);
	uint32_t checksum = (uint32_t)hash64(fields.data, fields.length, hash);

	return (uint32_t)RECORD_VERSION << VERSION_SHIFT | checksum >> (32 - VERSION_SHIFT);
}

struct value value_begin(void)
{
	struct value value;

	value.length = 0;
	return value;
}

void value_seal(struct value *value, enum table table, const struct key *key)
{
	uint32_t seal = seal_of(table, (struct span){key->data, key->length},
				(struct span){value->data, value->length});

	memcpy(value->data + value->length, &seal, SEAL_BYTES);
	value->length += SEAL_BYTES;
}

bool value_open(struct span stored, enum table table, struct span key, struct span *fields)
{
	uint32_t seal;

	if (stored.length < SEAL_BYTES)
		return false;
	*fields = (struct span){stored.data, stored.length - SEAL_BYTES};
	memcpy(&seal, stored.data + fields->length, SEAL_BYTES);
	return seal == seal_of(table, key, *fields);
}

void value_put(struct value *value, uint64_t number)
{
	value->length = (size_t)(varint_put(value->data + value->length, number) - value->data);
}

void value_put_signed(struct value *value, int64_t number)
{
	uint8_t *end = varint_put_signed(value->data + value->length, number);

	value->length = (size_t)(end - value->data);
}

void value_put_bytes(struct value *value, const void *data, size_t length)
{
	memcpy(value->data + value->length, data, length);
	value->length += length;
}

void value_put_fixed(struct value *value, uint64_t number)
{
	for (int shift = 56; shift >= 0; shift -= 8)
		value->data[value->length++] = (uint8_t)(number >> shift);
}

bool span_get_fixed(struct span *fields, uint64_t *number)
{
	if (fields->length < sizeof(*number))
		return false;
	*number = 0;
	for (size_t i = 0; i < sizeof(*number); i++)
		*number = *number << 8 | fields->data[i];
	fields->data += sizeof(*number);
	fields->length -= sizeof(*number);
	return true;
}

struct value encode_number(uint64_t number)
{
	struct value value = value_begin();

	value_put(&value, number);
	return value;
}

bool decode_number(struct span fields, uint64_t *number)
{
	return span_get(&fields, number) && fields.length == 0;
}

struct value encode_text(const char *text, size_t length)
{
	struct value value = value_begin();

	value_put_bytes(&value, text, length);
	return value;
}

struct value encode_nothing(void)
{
	return value_begin();
}
