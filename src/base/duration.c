/* SPDX-License-Identifier: MIT */
#include "base/duration.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/numbers.h"

/* Returns the milliseconds of a unit, or 0 if it is unknown. */
static uint64_t unit_milliseconds(const char *unit)
{
	if (unit[0] == '\0' || strcmp(unit, "s") == 0)
		return 1000;
	if (strcmp(unit, "m") == 0)
		return UINT64_C(60) * 1000;
	if (strcmp(unit, "h") == 0)
		return UINT64_C(3600) * 1000;
	return strcmp(unit, "d") == 0 ? UINT64_C(86400) * 1000 : 0;
}

int duration_parse(const char *text, uint64_t *milliseconds)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t unit = unit_milliseconds(text + digits);
	uint64_t number;

	if (digits == 0 || unit == 0)
		return -EINVAL;
	/* the value must also fit in nanoseconds */
	if (number_read(text, digits, &number) < 0 ||
	    __builtin_mul_overflow(number, unit, &number) || number > UINT64_MAX / MS_NS)
		return -ERANGE;
	*milliseconds = number;
	return 0;
}
