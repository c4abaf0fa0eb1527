/* SPDX-License-Identifier: MIT */
#include "base/numbers.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int number_read(const char *digits, size_t count, uint64_t *number)
{
	uint64_t read = 0;

	for (size_t i = 0; i < count; i++) {
		if (__builtin_mul_overflow(read, 10, &read) ||
		    __builtin_add_overflow(read, (uint64_t)(digits[i] - '0'), &read))
			return -ERANGE;
	}
	*number = read;
	return 0;
}

bool number_read_hex(const char *digits, size_t count, uint64_t *number)
{
	static const char all[16] = "0123456789abcdef";
	uint64_t read = 0;

	for (size_t i = 0; i < count; i++) {
		const char *digit = memchr(all, digits[i], sizeof(all));

		if (!digit)
			return false;
		read = read << 4 | (uint64_t)(digit - all);
	}
	*number = read;
	return true;
}

uint64_t number_read_file(const char *path)
{
	AUTO_FCLOSE FILE *file = fopen(path, "re");
	char text[32] = "", *end = text;
	uint64_t number = file && fgets(text, sizeof(text), file) ? strtoull(text, &end, 10) : 0;

	return end > text ? number : UINT64_MAX;
}

const char *number_format(char text[static NUMBER_TEXT_MAX], uint64_t number)
{
	char digits[NUMBER_TEXT_MAX];
	int count = snprintf(digits, sizeof(digits), "%" PRIu64, number);
	char *end = text;

	for (int i = 0; i < count; i++) {
		if (i > 0 && (count - i) % 3 == 0)
			*end++ = ',';
		*end++ = digits[i];
	}
	*end = '\0';
	return text;
}

/* ---- sizes --------------------------------------------------------------------------------- */

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
