/* SPDX-License-Identifier: MIT */
#ifndef ROW_JSON_NUMBER_H
#define ROW_JSON_NUMBER_H

/* Numbers without a sign in JSON. jansson and other readers accept integers up to 2^63 - 1. Only
 * inode and device numbers can be larger: some file systems make them from a hash. Any thread. */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

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

#endif
