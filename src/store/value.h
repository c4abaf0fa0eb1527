/* SPDX-License-Identifier: MIT */
#ifndef STORE_VALUE_H
#define STORE_VALUE_H

/* The values of records. Pure code, any thread.
 *
 * A record in LMDB consists of the fields and a seal of 4 bytes: 4 bits of version and 28 bits of
 * a checksum over table, key and fields. The checksum detects a damaged record, and a record under
 * a wrong key or in a wrong table. Numbers use the codec of base/bytes.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "store/key.h"
#include "store/table.h"

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
