/* SPDX-License-Identifier: MIT */
#include "base/metadata.h"
#include "unit_test.h"

static const struct timespec wanted = {1000000001, 123456789};
static const struct timespec changed = {1700000000, 804164608}; /* a ctime */

static bool is_stored(struct timespec mtime, struct timespec ctime)
{
	const struct stat found = {.st_mtim = mtime, .st_ctim = ctime};

	return stored_time_equals(wanted, &found);
}

static struct timespec rounded(struct timespec time, long kept_ns)
{
	return (struct timespec){time.tv_sec, time.tv_nsec - time.tv_nsec % kept_ns};
}

static void test_time_that_a_file_system_rounds_is_equal(void **state)
{
	static const long grains[] = {1, 100, 1000, 10000000, 1000000000};

	(void)state;
	for (size_t i = 0; i < sizeof(grains) / sizeof(grains[0]); i++)
		assert_true(is_stored(rounded(wanted, grains[i]), rounded(changed, grains[i])));
	assert_true(is_stored((struct timespec){1000000000, 0}, (struct timespec){1700000000, 0}));
}

static void test_time_with_fewer_digits_than_the_ctime_differs(void **state)
{
	(void)state;
	for (long grain = 100; grain <= 1000000000; grain *= 10)
		assert_int_equal(is_stored(rounded(wanted, grain), changed),
				 rounded(changed, grain).tv_nsec == changed.tv_nsec);
	assert_false(is_stored((struct timespec){1000000000, 0}, changed));
}

static void test_other_time_differs(void **state)
{
	static const struct timespec others[] = {
		{1000000001, 123456788}, {1000000001, 123456790}, {1000000002, 0},
		{999999999, 0},          {1000000001, 123000001}, {0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_false(is_stored(others[i], changed));
		assert_false(is_stored(others[i], (struct timespec){1700000000, 0}));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time_that_a_file_system_rounds_is_equal),
		cmocka_unit_test(test_time_with_fewer_digits_than_the_ctime_differs),
		cmocka_unit_test(test_other_time_differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
