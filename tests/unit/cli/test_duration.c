/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "cli/common_options.h"
#include "unit_test.h"

static void assert_parsed(const char *text, uint64_t expected)
{
	uint64_t milliseconds = ~expected;

	assert_int_equal(duration_parse(text, &milliseconds), 0);
	assert_true(milliseconds == expected);
}

static void assert_refused(const char *text, int error)
{
	uint64_t milliseconds = 42;

	assert_int_equal(duration_parse(text, &milliseconds), error);
	assert_int_equal(milliseconds, 42);
}

static void test_plain_numbers_are_seconds(void **state)
{
	(void)state;
	assert_parsed("0", 0);
	assert_parsed("1", 1000);
	assert_parsed("007", 7000);
	assert_parsed("90s", 90000);
}

static void test_units_up_to_days_are_parsed(void **state)
{
	(void)state;
	assert_parsed("15m", 900000);
	assert_parsed("2h", 7200000);
	assert_parsed("1d", 86400000);
	assert_parsed("0d", 0);
}

static void test_invalid_duration_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",   " 1",  "1 ",  "-1",  "+1",  "s",    "1ss",   "1x",
		"1M", "1ms", "1 s", "1.5", "0x1", "1h5m", "1,000", "never",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_refused(wrong[i], -EINVAL);
}

static void test_duration_that_does_not_fit_is_refused_with_erange(void **state)
{
	(void)state;
	assert_refused("18446744073709551616", -ERANGE);
	assert_refused("18446744073709551615", -ERANGE);
	assert_refused("99999999999999999999999d", -ERANGE);
	assert_refused("18446744074", -ERANGE);
	assert_refused("213504d", -ERANGE);
}

static void test_longest_duration_fits_in_nanoseconds(void **state)
{
	uint64_t milliseconds = 0, nanoseconds;

	(void)state;
	assert_parsed("18446744073", UINT64_C(18446744073000));
	assert_int_equal(duration_parse("213503d", &milliseconds), 0);
	assert_false(__builtin_mul_overflow(milliseconds, UINT64_C(1000000), &nanoseconds));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_numbers_are_seconds),
		cmocka_unit_test(test_units_up_to_days_are_parsed),
		cmocka_unit_test(test_invalid_duration_is_refused),
		cmocka_unit_test(test_duration_that_does_not_fit_is_refused_with_erange),
		cmocka_unit_test(test_longest_duration_fits_in_nanoseconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
