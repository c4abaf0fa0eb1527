/* SPDX-License-Identifier: MIT */

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times_that_do_not_fit_saturate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
