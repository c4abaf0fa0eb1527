/* SPDX-License-Identifier: MIT */
#ifndef BASE_DURATION_H
#define BASE_DURATION_H

/* Spans of time as people write them. Pure code, any thread. */

#include <stdint.h>

#include "base/attributes.h"

/* What an option says of its value. */
#define DURATION_EXPECTED "a number with s, m, h or d (seconds without), like 90 or 15m"

/* Parses a whole number with a unit: s, m, h, d; seconds without one. 0, -EINVAL, or -ERANGE
 * above some 500 years. */
MUST_CHECK int duration_parse(const char *text, uint64_t *milliseconds);

#endif
