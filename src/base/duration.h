/* SPDX-License-Identifier: MIT */
#ifndef BASE_DURATION_H
#define BASE_DURATION_H

/* Durations as users write them. Pure code, any thread. */

#include <stdint.h>

#include "base/attributes.h"

/* Describes a duration in messages about options. */
#define DURATION_EXPECTED "a number with s, m, h or d (seconds without), like 90 or 15m"

/* Parses a whole number with a unit s, m, h or d, or without a unit for seconds. Returns 0,
 * -EINVAL, or -ERANGE above about 500 years. */
MUST_CHECK int duration_parse(const char *text, uint64_t *milliseconds);

#endif
