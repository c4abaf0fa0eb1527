/* SPDX-License-Identifier: MIT */
#ifndef ROW_FIELDS_H
#define ROW_FIELDS_H

/* Structs as JSON objects, by tables of fields:
 *
 *	static const struct field fields[] = {
 *		{FIELD(struct row, path, "path", FIELD_PATH), .required = true},
 *		{FIELD(struct row, size, "size", FIELD_NUMBER)},
 *	};
 *
 * The members of an object have the order of its tables. A field that is absent has no member, and
 * a missing member leaves its field absent, unless it is required. Other members are ignored. Pure
 * code, any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attributes.h"
#include "base/bytes.h"

enum field_type {
	/* const char *: bytes by the rule of row/json_path.h, without a NUL; absent: NULL */
	FIELD_PATH,
	FIELD_NUMBER, /* int64_t, or uint64_t up to INT64_MAX; absent: 0 */
	FIELD_HEX64, /* uint64_t, 16 hexadecimal digits; absent: 0 */
	FIELD_WORD, /* uint32_t or an enum, one of field.words; absent: a value without a word */
	FIELD_TIME, /* struct timespec, as in RFC 3339 without parts of a second */
	FIELD_TIMES, /* struct timespec, as a number of seconds, and the member KEY_ns */
	FIELD_COUNT, /* uint32_t */
	FIELD_MODE, /* uint32_t, at least four octal digits */
	FIELD_FLAGS, /* uint32_t, hexadecimal digits */
	FIELD_HASH128, /* struct hash128 */
	FIELD_SHA256, /* SHA256_BYTES bytes; absent: all are 0 */
};

struct field_word {
	const char *word;
	uint32_t value;
};

struct field {
	const char *key;
	size_t offset; /* of the field in the struct */
	enum field_type type;
	bool required; /* without its member, the object is invalid */
	bool optional; /* a bool at `given` in the struct says whether the field is there */
	size_t given;
	const struct field_word *words;
	size_t count; /* of words */
};

/* The beginning of an entry of a table. */
#define FIELD(structure, member, name, kind) \
	.key = (name), .type = (kind), .offset = offsetof(structure, member)

/* Sets the members of the fields of a struct. Returns 0 or -ENOMEM. */
MUST_CHECK int fields_set(json_t *object, const void *from, const struct field *fields,
			  size_t count);

/* Gets the fields of a struct, which are absent before.
 *
 * texts	receives the bytes of each FIELD_PATH, in the order of the table
 *
 * Returns 0, -EPROTO if a member is missing or of another form, or -ENOMEM. */
MUST_CHECK int fields_get(const json_t *object, void *to, const struct field *fields, size_t count,
			  struct bytes *texts);

/* Returns the word of a value, or NULL. */
const char *field_word_of(const struct field_word *words, size_t count, uint32_t value);

#endif
