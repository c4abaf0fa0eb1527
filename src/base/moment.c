/* SPDX-License-Identifier: MIT */
#include "base/moment.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/numbers.h"

/* Highest age. Later moments fit in nanoseconds since 1970, as in clock_ns(). */
#define AGE_SECONDS_MAX (INT64_C(500) * 365 * 86400)

static int64_t unit_seconds(const char *unit)
{
	static const struct {
		const char *name;
		int64_t seconds;
	} units[] = {{"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}, {"y", 31536000}};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(unit, units[i].name) == 0)
			return units[i].seconds;
	}
	return 0;
}

static int parse_age(const char *text, struct timespec now, struct timespec *moment)
{
	size_t digits = strspn(text, "0123456789");
	int64_t unit = unit_seconds(text + digits);
	uint64_t number;

	if (digits == 0 || unit == 0)
		return -EINVAL;
	if (number_read(text, digits, &number) < 0 || number > (uint64_t)(AGE_SECONDS_MAX / unit))
		return -ERANGE;
	*moment = now;
	moment->tv_sec -= (time_t)((int64_t)number * unit);
	return 0;
}

/* Parses a time of day, with or without seconds, or none. */
static bool parse_time(const char *text, struct tm *parts)
{
	const char *end;

	if (*text == '\0')
		return true;
	if (*text != ' ' && *text != 'T')
		return false;
	end = strptime(text + 1, "%H:%M", parts);
	if (end && *end == ':')
		end = strptime(end, ":%S", parts);
	return end && *end == '\0';
}

int moment_parse(const char *text, struct timespec now, struct timespec *moment)
{
	struct tm parts = {.tm_isdst = -1};
	const char *end = strptime(text, "%Y-%m-%d", &parts);
	int day = parts.tm_mday;
	time_t seconds;

	if (!end)
		return parse_age(text, now, moment);
	if (!parse_time(end, &parts))
		return -EINVAL;
	parts.tm_isdst = -1;
	seconds = mktime(&parts);
	if (parts.tm_mday != day) /* a day like February 30 */
		return -EINVAL;
	*moment = (struct timespec){.tv_sec = seconds};
	return 0;
}
