/* SPDX-License-Identifier: MIT */
#include "store/value.h"

#include <string.h>

#include "base/bytes.h"

/* The first byte of every record. No record of another format is ever read, as the format of the
 * index is checked first (include/twinfs/format.h). So another first byte means damage. */
#define RECORD_VERSION 1
#define CHECKSUM_BYTES 4

static uint32_t checksum(enum table table, const uint8_t *key, size_t key_length,
			 const uint8_t *value, size_t value_length)
{
	return (uint32_t)hash64(value, value_length, hash64(key, key_length, (uint64_t)table));
}

struct value value_begin(void)
{
	struct value value;

	value.length = 1;
	value.data[0] = RECORD_VERSION;
	return value;
}

void value_seal(struct value *value, enum table table, const struct key *key)
{
	uint32_t sum = checksum(table, key->data, key->length, value->data, value->length);

	memcpy(value->data + value->length, &sum, CHECKSUM_BYTES);
	value->length += CHECKSUM_BYTES;
}

bool value_open(struct span stored, enum table table, struct span key, struct span *fields)
{
	size_t length = stored.length - CHECKSUM_BYTES;
	uint32_t sum;

	if (stored.length < 1 + CHECKSUM_BYTES || stored.data[0] != RECORD_VERSION)
		return false;
	memcpy(&sum, stored.data + length, CHECKSUM_BYTES);
	if (sum != checksum(table, key.data, key.length, stored.data, length))
		return false;
	*fields = (struct span){stored.data + 1, length - 1};
	return true;
}

void value_put(struct value *value, uint64_t number)
{
	value->length = (size_t)(varint_put(value->data + value->length, number) - value->data);
}

void value_put_bytes(struct value *value, const void *data, size_t length)
{
	memcpy(value->data + value->length, data, length);
	value->length += length;
}

bool span_get(struct span *fields, uint64_t *number)
{
	const uint8_t *at = fields->data;

	if (!varint_get(&at, fields->data + fields->length, number))
		return false;
	fields->length -= (size_t)(at - fields->data);
	fields->data = at;
	return true;
}

bool span_get32(struct span *fields, uint32_t *number)
{
	uint64_t wide;

	if (!span_get(fields, &wide) || wide > UINT32_MAX)
		return false;
	*number = (uint32_t)wide;
	return true;
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
