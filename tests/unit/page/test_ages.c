/* SPDX-License-Identifier: MIT */

#include "page/tallies.h"
#include "unit_test.h"

#define NOW 1800000000
#define DAY INT64_C(86400)

static const struct timespec now = {NOW, 500};

static enum age age_before(int64_t seconds, long ns)
{
	return age_of((struct timespec){NOW - seconds, ns}, now);
}

static void test_ages_have_no_gaps(void **state)
{
	static const struct {
		int64_t days;
		enum age before, from;
	} ends[] = {
		{1, AGE_DAY, AGE_WEEK},
		{7, AGE_WEEK, AGE_MONTH},
		{30, AGE_MONTH, AGE_QUARTER},
		{91, AGE_QUARTER, AGE_YEAR},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		assert_int_equal(age_before(ends[i].days * DAY, 501), ends[i].before);
		assert_int_equal(age_before(ends[i].days * DAY, 500), ends[i].from);
	}
}

static void test_years_have_their_leap_days(void **state)
{
	(void)state;
	assert_int_equal(age_before(365 * DAY, 500), AGE_YEAR);
	assert_int_equal(age_before(366 * DAY, 500), AGE_2_YEARS);
	assert_int_equal(age_before(3652 * DAY, 500), AGE_10_YEARS);
	assert_int_equal(age_before(3653 * DAY, 500), AGE_OLDER);
}

static void test_later_times_are_in_the_future(void **state)
{
	(void)state;
	assert_int_equal(age_before(0, 500), AGE_DAY);
	assert_int_equal(age_before(0, 501), AGE_FUTURE);
	assert_int_equal(age_before(-1, 0), AGE_FUTURE);
}

static void test_extreme_times_have_an_age(void **state)
{
	(void)state;
	assert_int_equal(age_of((struct timespec){INT64_MIN, 0}, now), AGE_OLDER);
	assert_int_equal(age_of((struct timespec){INT64_MAX, 999999999}, now), AGE_FUTURE);
	assert_int_equal(age_of((struct timespec){-NOW, 0}, now), AGE_OLDER);
}

static void test_sums_of_ages_saturate(void **state)
{
	struct ages ages = {0};

	(void)state;
	for (int i = 0; i < 5; i++)
		ages_add(&ages, AGE_OLDER, INT64_MAX);
	assert_true(ages.bytes[AGE_OLDER] == UINT64_MAX);
	assert_int_equal(ages.files[AGE_OLDER], 5);
}

static void test_names_of_ages_differ(void **state)
{
	(void)state;
	for (enum age age = 0; age < AGE_COUNT; age++) {
		for (enum age other = 0; other < age; other++)
			assert_string_not_equal(age_name(age), age_name(other));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ages_have_no_gaps),
		cmocka_unit_test(test_years_have_their_leap_days),
		cmocka_unit_test(test_later_times_are_in_the_future),
		cmocka_unit_test(test_extreme_times_have_an_age),
		cmocka_unit_test(test_sums_of_ages_saturate),
		cmocka_unit_test(test_names_of_ages_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
