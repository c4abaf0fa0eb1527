/* SPDX-License-Identifier: MIT */
#ifndef BASE_MOMENT_H
#define BASE_MOMENT_H

/* Moments in the past as users write them: an age, or a date. Any thread. */

#include <time.h>

#include "base/attributes.h"

/* Describes a moment in messages about options. */
#define MOMENT_EXPECTED \
	"an age with m, h, d, w or y, like 7d, or a date like 2024-01-31 or '2024-01-31 18:30'"

/* Parses an age, which is a number of minutes, hours, days, weeks or years (of 365 days) before
 * now, or a date with an optional time in the local time zone. Returns 0, -EINVAL, or -ERANGE for
 * an age above about 500 years. */
MUST_CHECK int moment_parse(const char *text, struct timespec now, struct timespec *moment);

#endif
