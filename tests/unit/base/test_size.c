/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/numbers.h"
#include "unit_test.h"

static void assert_parsed(const char *text, uint64_t expected)
{
	uint64_t bytes = ~expected;

	assert_int_equal(size_parse(text, &bytes), 0);
	assert_true(bytes == expected);
}

static void assert_refused(const char *text, int error)
{
	uint64_t bytes = 42;

	assert_int_equal(size_parse(text, &bytes), error);
	assert_int_equal(bytes, 42);
}

static void test_plain_numbers_are_bytes(void **state)
{
	(void)state;
	assert_parsed("0", 0);
	assert_parsed("1", 1);
	assert_parsed("007", 7);
	assert_parsed("4096B", 4096);
	assert_parsed("18446744073709551615", UINT64_MAX);
}

static void test_units_of_1024_in_either_case_are_parsed(void **state)
{
	(void)state;
	assert_parsed("4k", 4096);
	assert_parsed("4K", 4096);
	assert_parsed("1M", 1048576);
	assert_parsed("1mib", 1048576);
	assert_parsed("2GiB", UINT64_C(2) << 30);
	assert_parsed("3T", UINT64_C(3) << 40);
	assert_parsed("5PiB", UINT64_C(5) << 50);
	assert_parsed("15E", UINT64_C(15) << 60);
}

static void test_units_of_1000_are_parsed(void **state)
{
	(void)state;
	assert_parsed("1kB", 1000);
	assert_parsed("7MB", 7000000);
	assert_parsed("1EB", UINT64_C(1000000000000000000));
}

static void test_invalid_size_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",    " 1",  "1 ",    "-1", "+1",  "k",     "1kk", "1x",   "1.5M", "0x10",
		"1Ki", "1iB", "1KiBB", "B",  "1b1", "1,000", "1 k", "1BiB", "1BB",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_refused(wrong[i], -EINVAL);
}

static void test_size_that_does_not_fit_is_refused_with_erange(void **state)
{
	(void)state;
	assert_refused("18446744073709551616", -ERANGE);
	assert_refused("99999999999999999999999", -ERANGE);
	assert_refused("16E", -ERANGE);
	assert_refused("19EB", -ERANGE);
}

static void assert_shown(uint64_t bytes, const char *expected)
{
	char text[SIZE_TEXT_MAX];

	assert_string_equal(size_format(text, bytes), expected);
}

static void test_sizes_are_shown_with_at_most_three_digits(void **state)
{
	(void)state;
	assert_shown(0, "0 B");
	assert_shown(999, "999 B");
	assert_shown(1000, "0.98 KiB");
	assert_shown(1018, "0.99 KiB");
	assert_shown(1019, "1.0 KiB");
	assert_shown(1024, "1.0 KiB");
	assert_shown(1536, "1.5 KiB");
	assert_shown(10188, "9.9 KiB");
	assert_shown(10189, "10 KiB");
	assert_shown(UINT64_C(999) << 10, "999 KiB");
	assert_shown(UINT64_C(1014) << 10, "0.99 MiB");
	assert_shown(UINT64_C(12345678901), "11 GiB");
	assert_shown(UINT64_MAX, "16 EiB");
}

static void test_size_that_rounds_up_to_1000_has_the_next_unit(void **state)
{
	(void)state;
	assert_shown(1023487, "999 KiB");
	assert_shown(1023488, "0.98 MiB");
	assert_shown(1048575, "1.0 MiB");
	assert_shown((UINT64_C(1) << 40) - 1, "1.0 TiB");
}

static void test_every_magnitude_fits_the_buffer(void **state)
{
	(void)state;
	for (unsigned int shift = 0; shift < 64; shift++) {
		for (uint64_t more = 0; more < 3; more++) {
			char text[SIZE_TEXT_MAX];

			(void)size_format(text, (UINT64_C(1) << shift) - 1 + more);
			assert_in_range(strlen(text), strlen("0 B"), strlen("0.98 KiB"));
		}
	}
}

static void test_sums_and_products_saturate(void **state)
{
	(void)state;
	assert_int_equal(size_add(3, 4), 7);
	assert_true(size_add(UINT64_MAX - 1, 1) == UINT64_MAX);
	assert_true(size_add(UINT64_MAX, 1) == UINT64_MAX);
	assert_true(size_add(INT64_MAX, UINT64_MAX) == UINT64_MAX);
	assert_int_equal(size_multiply(3, 4), 12);
	assert_int_equal(size_multiply(0, UINT64_MAX), 0);
	assert_true(size_multiply(2, UINT64_C(1) << 63) == UINT64_MAX);
	assert_true(size_multiply(UINT64_MAX, UINT64_MAX) == UINT64_MAX);
}

static void test_sum_above_the_largest_number_is_exact_after_subtractions(void **state)
{
	struct size_sum sum = {0};
	const struct size_sum three = {.low = 3}, more = {.low = 3, .high = 1};

	(void)state;
	size_sum_add(&sum, 3);
	for (int i = 0; i < 6; i++)
		size_sum_add(&sum, INT64_MAX);
	assert_true(size_sum_bytes(&sum) == UINT64_MAX);
	assert_false(size_sum_equals(&sum, &three));
	for (int i = 0; i < 6; i++)
		size_sum_subtract(&sum, INT64_MAX);
	assert_true(size_sum_bytes(&sum) == 3);
	assert_true(size_sum_equals(&sum, &three));
	assert_false(size_sum_equals(&sum, &more));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_numbers_are_bytes),
		cmocka_unit_test(test_units_of_1024_in_either_case_are_parsed),
		cmocka_unit_test(test_units_of_1000_are_parsed),
		cmocka_unit_test(test_invalid_size_is_refused),
		cmocka_unit_test(test_size_that_does_not_fit_is_refused_with_erange),
		cmocka_unit_test(test_sizes_are_shown_with_at_most_three_digits),
		cmocka_unit_test(test_size_that_rounds_up_to_1000_has_the_next_unit),
		cmocka_unit_test(test_every_magnitude_fits_the_buffer),
		cmocka_unit_test(test_sums_and_products_saturate),
		cmocka_unit_test(test_sum_above_the_largest_number_is_exact_after_subtractions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
