/* SPDX-License-Identifier: MIT */
#ifndef ROW_JSON_TEXT_H
#define ROW_JSON_TEXT_H

/* JSON as text, and members of other forms than JSON has. Any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <jansson.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/metadata.h"

/* Calls json_loadb(). If memory is short, json_loadb() damages the heap (seen with jansson 2.14),
 * so the process logs an error and exits instead. */
MUST_CHECK json_t *json_read(const char *text, size_t length, size_t flags);

/* ---- numbers -------------------------------------------------------------------------- */

/* Numbers without a sign in JSON. jansson and other readers accept integers up to 2^63 - 1. Only
 * inode and device numbers can be larger: some file systems make them from a hash. */

/* Returns the JSON integer for a count or a size, at most 2^63 - 1. */
static inline json_int_t json_number_of(uint64_t number)
{
	return number > INT64_MAX ? INT64_MAX : (json_int_t)number;
}

/* Makes the JSON integer for a count or a size. Returns NULL if memory is short. */
static inline json_t *json_number(uint64_t number)
{
	return json_integer(json_number_of(number));
}

/* Makes the JSON value of an inode or device number: an integer, or the decimal digits as a string
 * above 2^63 - 1. Returns NULL if memory is short. */
json_t *json_identity(uint64_t number);

/* Returns whether the value is one that json_identity() makes. */
bool is_json_identity(const json_t *value);

/* ---- text ----------------------------------------------------------------------------- */

/* Appends JSON as text, with the flags of json_dumps(). Returns 0, or -ENOMEM and leaves text as it
 * was. jansson itself ignores a failure to write the name of a member (seen with 2.14), and would
 * go on with the next piece. */
MUST_CHECK int json_append(struct bytes *text, const json_t *value, size_t flags);

/* As json_append(), with a newline. */
MUST_CHECK int json_append_line(struct bytes *lines, const json_t *value, size_t flags);

/* Set a member of an object. json_set() takes the value, which is NULL if memory was short. A time
 * is text: ISO 8601 in UTC, to the second or millisecond. Return 0 or -ENOMEM; those for times can
 * return -EOVERFLOW. */
MUST_CHECK int json_set(json_t *object, const char *key, json_t *value);
MUST_CHECK int json_set_text(json_t *object, const char *key, const char *text);
MUST_CHECK int json_set_number(json_t *object, const char *key, uint64_t number);
MUST_CHECK int json_set_time(json_t *object, const char *key, struct timespec time);
MUST_CHECK int json_set_time_ms(json_t *object, const char *key, struct timespec time);

/* Makes the text of a number as 16 hexadecimal digits, for identities and hashes, which do not fit
 * a JSON number. Returns NULL if memory is short. */
json_t *json_hex64(uint64_t number);

/* Gets the number of a member that json_hex64() made. Returns false if the member is missing or of
 * another form. */
MUST_CHECK bool json_get_hex64(const json_t *object, const char *key, uint64_t *number);

/* Returns whether the member is this text. */
MUST_CHECK bool json_has_text(const json_t *object, const char *key, const char *text);

/* ---- extended attributes ----------------------------------------------------------- */

/* Extended attributes in JSON: a member "xattrs", a list of objects with the members "name", by the
 * rule of row/json_path.h, and "value_base64". Without attributes there is no such member. Pure
 * code, any thread. */

/* Sets the member "xattrs". Returns 0 or -ENOMEM. */
MUST_CHECK int json_set_xattrs(json_t *object, const struct xattrs *xattrs);

/* Adds the attributes that json_set_xattrs() wrote. Returns 0, -EPROTO if one is invalid or
 * repeated, or -ENOMEM. */
MUST_CHECK int json_get_xattrs(const json_t *object, struct xattrs *xattrs);

#endif
