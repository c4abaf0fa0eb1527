/* SPDX-License-Identifier: MIT */
#ifndef BASE_JSON_NUMBER_H
#define BASE_JSON_NUMBER_H

#include <stdint.h>

#include <jansson.h>

/* The number that JSON gets for a count or a size: 2^63 - 1 for a larger one, as jansson and other
 * readers take no larger integer. */
static inline json_int_t json_number_of(uint64_t number)
{
	return number > INT64_MAX ? INT64_MAX : (json_int_t)number;
}

/* Makes that number. NULL without memory. Any thread. */
static inline json_t *json_number(uint64_t number)
{
	return json_integer(json_number_of(number));
}

#endif
