/* SPDX-License-Identifier: MIT */
#ifndef ROW_FIELDS_H
#define ROW_FIELDS_H

/* Structs as JSON objects, by tables of fields:
 *
 *	static const struct field fields[] = {
 *		{FIELD(struct row, path, "path", FIELD_PATH), .required = true},
 *		{FIELD(struct row, size, "size", FIELD_SIZE), .fault = "it has no valid size"},
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
#include "base/memory.h"

enum field_type {
	/* const char *: bytes by the rule of row/json_path.h, without a NUL; absent: NULL */
	FIELD_PATH,
	FIELD_BYTES, /* struct bytes: bytes by the same rule; absent: no bytes */
	FIELD_TEXT, /* char[field.count] with a NUL; absent: empty */
	FIELD_NUMBER, /* int64_t, or uint64_t with these bits; absent: 0 */
	FIELD_SIZE, /* uint64_t, at most INT64_MAX; absent: 0 */
	FIELD_HEX64, /* uint64_t, 16 hexadecimal digits; absent: 0 */
	FIELD_BOOL, /* absent: false */
	FIELD_WORD, /* uint32_t or an enum, one of field.words; absent: a value without a word */
	FIELD_TIME, /* struct timespec, as in RFC 3339 without parts of a second */
	FIELD_SECONDS, /* int64_t since 1970, as FIELD_TIME */
	FIELD_TIMES, /* struct timespec, as a number of seconds, and the member KEY_ns */
	FIELD_COUNT, /* uint32_t */
	FIELD_MODE, /* uint32_t, at least four octal digits */
	FIELD_FLAGS, /* uint32_t, hexadecimal digits */
	FIELD_HASH128, /* struct hash128 */
	FIELD_SHA256, /* SHA256_BYTES bytes; absent: all are 0 */
	FIELD_FORM, /* of a form of its own: field.form */
};

struct field_word {
	const char *word;
	uint32_t value;
};

/* A form that only one struct has. */
struct field_form {
	/* Whether the field is there; not used if it is required. */
	bool (*has)(const void *member);
	/* Returns NULL if memory is short. */
	json_t *(*make)(const void *member);
	/* Returns false if the value is of another form. */
	bool (*get)(const json_t *value, void *member);
};

struct field {
	const char *key;
	size_t offset; /* of the field in the struct */
	enum field_type type;
	/* Without its member, the object is invalid. The member is also set if the field is 0. */
	bool required;
	bool optional; /* a bool at `given` in the struct says whether the field is there */
	size_t given;
	const struct field_word *words;
	size_t count; /* of words, or bytes of a FIELD_TEXT */
	uint64_t min, max; /* of a size, a count or a mode; max 0: no limit */
	const struct field_form *form;
	/* Returns NULL, or what is wrong with a field of the right type; "": its fault. */
	const char *(*check)(const void *member);
	const char *fault; /* what is wrong if the member is missing, or of another form */
};

/* The beginning of an entry of a table. */
#define FIELD(structure, member, name, kind) \
	.key = (name), .type = (kind), .offset = offsetof(structure, member)

#define REQUIRED(text) .required = true, .fault = (text)

struct field_table {
	const struct field *fields;
	size_t count;
};

#define FIELDS(array) ((struct field_table){(array), ARRAY_SIZE(array)})

/* Sets the members of the fields of a struct. Returns 0 or -ENOMEM. */
MUST_CHECK int fields_set(json_t *object, const void *from, struct field_table table);

/* Appends a struct as a line: the compact text of an object. Returns 0, or -ENOMEM and leaves lines
 * as they were. */
MUST_CHECK int fields_append_line(struct bytes *lines, const void *from, struct field_table table);

/* Gets the fields of a struct, which are absent before.
 *
 * memory	receives the text of each FIELD_PATH; NULL: the table has none
 * fault	set with -EPROTO to what is wrong: a text of the table, or that "path" and
 *		"path_base64" do not agree; NULL: the caller does not need it
 *
 * Returns 0, -EPROTO if a member is missing or of another form, or -ENOMEM. */
MUST_CHECK int fields_get(const json_t *object, void *to, struct field_table table,
			  struct arena *memory, const char **fault);

/* Returns the word of a value, or NULL. */
const char *field_word_of(const struct field_word *words, size_t count, uint32_t value);

#endif
