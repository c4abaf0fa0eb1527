/* SPDX-License-Identifier: MIT */
#ifndef ROW_JSON_TEXT_H
#define ROW_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <jansson.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* Appends JSON as text, with the flags of json_dumps(). Returns 0, or -ENOMEM and leaves text as it
 * was. jansson itself ignores a failure to write the name of a member (seen with 2.14), and would
 * go on with the next piece. Any thread. */
MUST_CHECK int json_append(struct bytes *text, const json_t *value, size_t flags);

/* As json_append(), with a newline. */
MUST_CHECK int json_append_line(struct bytes *lines, const json_t *value, size_t flags);

/* Set a member of an object. json_set() takes the value, which is NULL if memory was short. A time
 * is text: ISO 8601 in UTC, to the second or millisecond. Return 0 or -ENOMEM; those for times can
 * return -EOVERFLOW. Any thread. */
MUST_CHECK int json_set(json_t *object, const char *key, json_t *value);
MUST_CHECK int json_set_text(json_t *object, const char *key, const char *text);
MUST_CHECK int json_set_number(json_t *object, const char *key, uint64_t number);
MUST_CHECK int json_set_time(json_t *object, const char *key, struct timespec time);
MUST_CHECK int json_set_time_ms(json_t *object, const char *key, struct timespec time);

/* Makes the text of a number as 16 hexadecimal digits, for identities and hashes, which do not fit
 * a JSON number. Returns NULL if memory is short. Any thread. */
json_t *json_hex64(uint64_t number);

/* Gets the number of a member that json_hex64() made. Returns false if the member is missing or of
 * another form. Any thread. */
MUST_CHECK bool json_get_hex64(const json_t *object, const char *key, uint64_t *number);

/* Returns whether the member is this text. Any thread. */
MUST_CHECK bool json_has_text(const json_t *object, const char *key, const char *text);

#endif
