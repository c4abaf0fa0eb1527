/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "cli/common_options.h"
#include "unit_test.h"

static const struct timespec now = {.tv_sec = 1700000000, .tv_nsec = 5};

static time_t parsed(const char *text)
{
	struct timespec moment = {0};

	assert_int_equal(moment_parse(text, now, &moment), 0);
	return moment.tv_sec;
}

static void test_age_is_subtracted_from_now(void **state)
{
	struct timespec moment;

	(void)state;
	assert_int_equal(parsed("0d"), now.tv_sec);
	assert_int_equal(parsed("90m"), now.tv_sec - 5400);
	assert_int_equal(parsed("2h"), now.tv_sec - 7200);
	assert_int_equal(parsed("7d"), now.tv_sec - 604800);
	assert_int_equal(parsed("2w"), now.tv_sec - 1209600);
	assert_int_equal(parsed("1y"), now.tv_sec - 31536000);
	assert_int_equal(moment_parse("7d", now, &moment), 0);
	assert_int_equal(moment.tv_nsec, 5);
}

static void test_date_is_in_the_local_time_zone(void **state)
{
	(void)state;
	assert_int_equal(parsed("1970-01-01"), 5 * 3600);
	assert_int_equal(parsed("2024-02-29"), 1709164800 + 5 * 3600);
	assert_int_equal(parsed("2024-02-29 18:30"), 1709164800 + 5 * 3600 + 66600);
	assert_int_equal(parsed("2024-02-29T18:30:07"), 1709164800 + 5 * 3600 + 66607);
	assert_int_equal(parsed("1960-01-01"), -315619200 + 5 * 3600);
}

static void test_other_text_is_refused(void **state)
{
	static const char *const wrong[] = {"",
					    "7",
					    "d",
					    "7 d",
					    "-7d",
					    "7dd",
					    "2024",
					    "2024-13-01",
					    "2023-02-29",
					    "2024-01-31x",
					    "2024-01-31 ",
					    "2024-01-31 25:00",
					    "31.01.2024",
					    "2024-01-31 10",
					    "yesterday"};
	struct timespec moment;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(moment_parse(wrong[i], now, &moment), -EINVAL);
	assert_int_equal(moment_parse("501y", now, &moment), -ERANGE);
	assert_int_equal(moment_parse("99999999999999999999d", now, &moment), -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_age_is_subtracted_from_now),
		cmocka_unit_test(test_date_is_in_the_local_time_zone),
		cmocka_unit_test(test_other_text_is_refused),
	};

	(void)setenv("TZ", "WEST5", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
