/* SPDX-License-Identifier: MIT */
#ifndef BASE_JSON_NUMBER_H
#define BASE_JSON_NUMBER_H

#include <stdint.h>

#include <jansson.h>

/* Returns the JSON number for a count or a size. A number above 2^63 - 1 becomes 2^63 - 1, the
 * largest integer that jansson and other readers accept. */
static inline json_int_t json_number_of(uint64_t number)
{
	return number > INT64_MAX ? INT64_MAX : (json_int_t)number;
}

/* Makes the JSON number for a count or a size. Returns NULL if memory is short. Any thread. */
static inline json_t *json_number(uint64_t number)
{
	return json_integer(json_number_of(number));
}

#endif
