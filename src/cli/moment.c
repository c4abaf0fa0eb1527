/* SPDX-License-Identifier: MIT */
#include "cli/moment.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/numbers.h"

/* Highest age. Later moments fit in nanoseconds since 1970, as in clock_ns(). */
#define AGE_SECONDS_MAX (INT64_C(500) * 365 * 86400)

/* Which texts have a unit. */
enum unit_use {
	USE_DURATION = 1,
	USE_AGE = 2,
};

/* Parses a number with a unit that is for this use. Sets the seconds of the unit. Returns 0,
 * -EINVAL or -ERANGE. */
static int parse_amount(const char *text, enum unit_use use, uint64_t *number, uint64_t *seconds)
{
	static const struct {
		const char *name;
		uint64_t seconds;
		unsigned int uses; /* enum unit_use, or-ed */
	} units[] = {
		{"", 1, USE_DURATION},
		{"s", 1, USE_DURATION},
		{"m", 60, USE_DURATION | USE_AGE},
		{"h", 3600, USE_DURATION | USE_AGE},
		{"d", 86400, USE_DURATION | USE_AGE},
		{"w", 604800, USE_AGE},
		{"y", 31536000, USE_AGE},
	};
	size_t digits = strspn(text, "0123456789");

	for (size_t i = 0; digits > 0 && i < ARRAY_SIZE(units); i++) {
		if (units[i].uses & use && strcmp(text + digits, units[i].name) == 0) {
			*seconds = units[i].seconds;
			return number_read(text, digits, number);
		}
	}
	return -EINVAL;
}

int duration_parse(const char *text, uint64_t *milliseconds)
{
	uint64_t number, seconds;
	int r = parse_amount(text, USE_DURATION, &number, &seconds);

	if (r < 0)
		return r;
	/* the value must also fit in nanoseconds */
	if (__builtin_mul_overflow(number, seconds * 1000, &number) || number > UINT64_MAX / MS_NS)
		return -ERANGE;
	*milliseconds = number;
	return 0;
}

static int parse_age(const char *text, struct timespec now, struct timespec *moment)
{
	uint64_t number, seconds;
	int r = parse_amount(text, USE_AGE, &number, &seconds);

	if (r < 0)
		return r;
	if (number > AGE_SECONDS_MAX / seconds)
		return -ERANGE;
	*moment = now;
	moment->tv_sec -= (time_t)(number * seconds);
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
