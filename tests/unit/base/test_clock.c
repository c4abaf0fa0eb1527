/* SPDX-License-Identifier: MIT */

#include <errno.h>

#include "base/clock.h"
#include "unit_test.h"

static void test_times_that_do_not_fit_saturate(void **state)
{
	(void)state;
	assert_int_equal(clock_ns((struct timespec){1, 5}), 1000000005);
	assert_int_equal(clock_ns((struct timespec){-1, 5}), -999999995);
	assert_int_equal(clock_ns((struct timespec){INT64_C(9223372036), 854775807}), INT64_MAX);
	assert_int_equal(clock_ns((struct timespec){INT64_C(9223372036), 854775808}), INT64_MAX);
	assert_int_equal(clock_ns((struct timespec){INT64_MAX, 0}), INT64_MAX);
	assert_int_equal(clock_ns((struct timespec){INT64_MIN, 0}), INT64_MIN);
}

static void test_times_out_of_range_are_not_formatted(void **state)
{
	char text[CLOCK_TEXT_MAX];

	(void)state;
	assert_int_equal(clock_format_utc(text, (struct timespec){1, 5}), 0);
	assert_string_equal(text, "1970-01-01T00:00:01Z");
	assert_int_equal(clock_format_utc(text, (struct timespec){INT64_MAX, 0}), -EOVERFLOW);
	assert_int_equal(clock_format_utc_ms(text, (struct timespec){1, 42999999}), 0);
	assert_string_equal(text, "1970-01-01T00:00:01.042Z");
	assert_int_equal(clock_format_utc_ms(text, (struct timespec){INT64_MAX, 0}), -EOVERFLOW);
	assert_string_equal(clock_format_local(text, (struct timespec){INT64_MAX, 0}),
			    "an unknown time");
	assert_string_equal(clock_format_local(text, (struct timespec){0, 0}), "an unknown time");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times_that_do_not_fit_saturate),
		cmocka_unit_test(test_times_out_of_range_are_not_formatted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
