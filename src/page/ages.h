/* SPDX-License-Identifier: MIT */
#ifndef PAGE_AGES_H
#define PAGE_AGES_H

/* Files and bytes by age. Pure code; one thread at a time. */

#include <stdint.h>
#include <time.h>

enum age {
	AGE_FUTURE, /* changed later than now: a clock was wrong, or a program set the time */
	AGE_DAY,
	AGE_WEEK,
	AGE_MONTH, /* 30 days */
	AGE_QUARTER, /* 91 days */
	AGE_YEAR, /* 365.25 days, as are the years below */
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

/* Returns the age of a file at the time now. The last change of the file was at the time then. */
enum age age_of(struct timespec then, struct timespec now);

/* Returns the name of an age's upper bound, such as "a week" (static string). */
const char *age_name(enum age age);

void ages_add(struct ages *ages, enum age age, uint64_t bytes);

#endif
