/* SPDX-License-Identifier: MIT */
#include "base/size.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/numbers.h"

/* Each prefix is 1024 (or 1000) times the previous one. */
static const char prefixes[] = "KMGTPE";

/* Returns the factor of a unit, or 0 if it is unknown. */
static uint64_t unit_factor(const char *unit)
{
	uint64_t base = 1024;
	uint64_t factor = 1;
	const char *prefix;

	if (unit[0] == '\0' || strcasecmp(unit, "B") == 0)
		return 1;
	if (strcasecmp(unit + 1, "B") == 0)
		base = 1000;
	else if (unit[1] != '\0' && strcasecmp(unit + 1, "iB") != 0)
		return 0;
	/* the function: clang-tidy would count the blocks of the macro as nesting */
	prefix = strchr(prefixes, (toupper)((unsigned char)unit[0]));
	if (!prefix)
		return 0;
	for (const char *step = prefixes; step <= prefix; step++)
		factor *= base;
	return factor;
}

int size_parse(const char *text, uint64_t *bytes)
{
	uint64_t number;
	uint64_t factor;
	size_t digits = strspn(text, "0123456789");

	if (digits == 0)
		return -EINVAL;
	factor = unit_factor(text + digits);
	if (factor == 0)
		return -EINVAL;
	if (number_read(text, digits, &number) < 0 ||
	    __builtin_mul_overflow(number, factor, &number))
		return -ERANGE;
	*bytes = number;
	return 0;
}

const char *size_format(char text[static SIZE_TEXT_MAX], uint64_t bytes)
{
	double value = (double)bytes / 1024;
	size_t unit = 0;
	int digits;

	if (bytes < 1000) {
		(void)snprintf(text, SIZE_TEXT_MAX, "%" PRIu64 " B", bytes);
		return text;
	}
	/* a value that would be rounded to 1000 belongs to the next unit */
	while (value >= 999.5) {
		value /= 1024;
		unit++;
	}
	digits = value < 0.995 ? 2 : value < 9.95 ? 1 : 0;
	(void)snprintf(text, SIZE_TEXT_MAX, "%.*f %ciB", digits, value, prefixes[unit]);
	return text;
}
