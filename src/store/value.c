/* SPDX-License-Identifier: MIT */
#include "store/value.h"

#include <string.h>

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
