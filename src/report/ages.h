/* SPDX-License-Identifier: MIT */
#ifndef REPORT_AGES_H
#define REPORT_AGES_H

/* How many bytes are how old. Pure code; one thread at a time. */

#include <stdint.h>
#include <time.h>

enum age {
	AGE_FUTURE, /* later than now: a clock was wrong, or somebody set the time */
	AGE_DAY,
	AGE_WEEK,
	AGE_MONTH, /* 30 days */
	AGE_QUARTER, /* 91 */
	AGE_YEAR, /* 365.25, and so on */
	AGE_2_YEARS,
	AGE_5_YEARS,
	AGE_10_YEARS,
	AGE_OLDER,
	AGE_COUNT,
};

struct ages {
	uint64_t files[AGE_COUNT];
	uint64_t bytes[AGE_COUNT];
};

/* How old, at now, is what changed last then? */
enum age age_of(struct timespec then, struct timespec now);

/* "up to a week" and the like, after the one before it. */
const char *age_name(enum age age);

void ages_add(struct ages *ages, enum age age, uint64_t bytes);

#endif
