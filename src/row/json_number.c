/* SPDX-License-Identifier: MIT */
#include "row/json_number.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"

json_t *json_identity(uint64_t number)
{
	char digits[24];

	if (number <= INT64_MAX)
		return json_integer((json_int_t)number);
	(void)snprintf(digits, sizeof(digits), "%" PRIu64, number);
	return json_string_nocheck(digits);
}

bool is_json_identity(const json_t *value)
{
	const char *digits = json_string_value(value);
	uint64_t number;

	if (!digits)
		return json_is_integer(value);
	return digits[0] != '0' && number_read(digits, json_string_length(value), &number) == 0 &&
	       number > INT64_MAX;
}
