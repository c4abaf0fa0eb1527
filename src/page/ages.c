/* SPDX-License-Identifier: MIT */
#include "page/ages.h"

#include "base/clock.h"
#include "base/size.h"

#define DAY_SECONDS INT64_C(86400)
#define YEAR_SECONDS (DAY_SECONDS * 1461 / 4)

static const struct {
	int64_t seconds; /* upper bound, excluded */
	const char *name;
} ages_known[] = {
	[AGE_FUTURE] = {0, "in the future"},
	[AGE_DAY] = {DAY_SECONDS, "a day"},
	[AGE_WEEK] = {7 * DAY_SECONDS, "a week"},
	[AGE_MONTH] = {30 * DAY_SECONDS, "a month"},
	[AGE_QUARTER] = {91 * DAY_SECONDS, "3 months"},
	[AGE_YEAR] = {YEAR_SECONDS, "a year"},
	[AGE_2_YEARS] = {2 * YEAR_SECONDS, "2 years"},
	[AGE_5_YEARS] = {5 * YEAR_SECONDS, "5 years"},
	[AGE_10_YEARS] = {10 * YEAR_SECONDS, "10 years"},
	[AGE_OLDER] = {INT64_MAX, "more"},
};

enum age age_of(struct timespec then, struct timespec now)
{
	int64_t past;
	enum age age = AGE_DAY;

	if (__builtin_sub_overflow(clock_ns(now), clock_ns(then), &past))
		return AGE_OLDER; /* the time is hundreds of years before 1970 */
	if (past < 0)
		return AGE_FUTURE;
	while (age < AGE_OLDER && past / SECOND_NS >= ages_known[age].seconds)
		age++;
	return age;
}

const char *age_name(enum age age)
{
	return ages_known[age].name;
}

void ages_add(struct ages *ages, enum age age, uint64_t bytes)
{
	ages->files[age]++;
	ages->bytes[age] = size_add(ages->bytes[age], bytes);
}
