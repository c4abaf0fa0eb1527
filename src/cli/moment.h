/* SPDX-License-Identifier: MIT */
#ifndef CLI_MOMENT_H
#define CLI_MOMENT_H

/* Durations, and moments in the past, as users write them. Any thread. */

#include <stdint.h>
#include <time.h>

#include "base/attributes.h"

/* Describes a duration in messages about options. */
#define DURATION_EXPECTED "a number with s, m, h or d (seconds without), like 90 or 15m"

/* Parses a whole number with a unit s, m, h or d, or without a unit for seconds. Returns 0,
 * -EINVAL, or -ERANGE above about 500 years. */
MUST_CHECK int duration_parse(const char *text, uint64_t *milliseconds);

/* Describes a moment in messages about options. */
#define MOMENT_EXPECTED \
	"an age with m, h, d, w or y, like 7d, or a date like 2024-01-31 or '2024-01-31 18:30'"

/* Parses an age, which is a number of minutes, hours, days, weeks or years (of 365 days) before
 * now, or a date with an optional time in the local time zone. Returns 0, -EINVAL, or -ERANGE for
 * an age above about 500 years. */
MUST_CHECK int moment_parse(const char *text, struct timespec now, struct timespec *moment);

#endif
