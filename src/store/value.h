/* SPDX-License-Identifier: MIT */
#ifndef STORE_VALUE_H
#define STORE_VALUE_H

/* The values of records. Pure code, any thread.
 *
 * Every record in LMDB is: a version byte, the fields, and a 32-bit checksum over table, key,
 * version and fields, so that a record that was damaged, or that is under a wrong key or in a wrong
 * table, is found when it is read. Numbers use the codec of base/bytes.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "store/key.h"
#include "store/table.h"

/* The largest encoded record, in bytes. */
#define RECORD_BYTES_MAX 512

/* A record being written. The fields must fit. */
struct value {
	size_t length;
	uint8_t data[RECORD_BYTES_MAX];
};

struct value value_begin(void);
void value_put(struct value *value, uint64_t number);
void value_put_bytes(struct value *value, const void *data, size_t length);

/* Puts 8 bytes, the upper ones first: a hash as a varint would take more. */
void value_put_fixed(struct value *value, uint64_t number);

/* Puts version and checksum around the fields. */
void value_seal(struct value *value, enum table table, const struct key *key);

/* Checks version and checksum and gives the fields between; false: damaged. */
MUST_CHECK bool value_open(struct span stored, enum table table, struct span key,
			   struct span *fields);

/* Each takes the first number off the fields; false: damaged. */
MUST_CHECK bool span_get(struct span *fields, uint64_t *number);
MUST_CHECK bool span_get32(struct span *fields, uint32_t *number);
MUST_CHECK bool span_get_fixed(struct span *fields, uint64_t *number);

/* Values of one field, or of none. */
struct value encode_number(uint64_t number);
struct value encode_text(const char *text, size_t length); /* at most 256 bytes */
struct value encode_nothing(void);
MUST_CHECK bool decode_number(struct span fields, uint64_t *number);

#endif
