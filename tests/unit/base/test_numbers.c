/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/attributes.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "unit_test.h"

static unsigned int asked;

static int by_number(const void *a, const void *b)
{
	asked++;
	return numbers_compare(*(const uint64_t *)a, *(const uint64_t *)b);
}

static void test_numbers_are_compared_over_their_whole_range(void **state)
{
	(void)state;
	assert_true(numbers_compare(0, UINT64_MAX) < 0);
	assert_true(numbers_compare(UINT64_MAX, 0) > 0);
	assert_true(numbers_compare(UINT64_C(1) << 32, 1) > 0);
	assert_int_equal(numbers_compare(7, 7), 0);
}

static void test_duplicate_numbers_are_removed(void **state)
{
	uint64_t list[] = {5, UINT64_MAX, 0, 5, 1, 0, 5};
	const uint64_t expected[] = {0, 1, 5, UINT64_MAX};

	(void)state;
	assert_int_equal(numbers_sort_once(list, ARRAY_SIZE(list)), ARRAY_SIZE(expected));
	assert_memory_equal(list, expected, sizeof(expected));
	assert_int_equal(numbers_sort_once(list, 1), 1);
	assert_int_equal(numbers_sort_once(NULL, 0), 0);
}

static void test_unsorted_numbers_at_any_position_are_sorted(void **state)
{
	const uint64_t sorted[] = {1, 2, 3, 3, 9};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sorted) - 1; i++) {
		uint64_t list[ARRAY_SIZE(sorted)];

		memcpy(list, sorted, sizeof(list));
		list[i] = sorted[i + 1];
		list[i + 1] = sorted[i];
		sort_unless_sorted(list, ARRAY_SIZE(list), sizeof(*list), by_number);
		assert_memory_equal(list, sorted, sizeof(list));
	}
}

static void test_sorted_list_is_read_once(void **state)
{
	uint64_t list[] = {1, 2, 2, 8};

	(void)state;
	asked = 0;
	sort_unless_sorted(list, ARRAY_SIZE(list), sizeof(*list), by_number);
	assert_int_equal(asked, ARRAY_SIZE(list) - 1);
	sort_unless_sorted(list, 1, sizeof(*list), by_number);
	sort_unless_sorted(NULL, 0, sizeof(*list), by_number);
	assert_int_equal(asked, ARRAY_SIZE(list) - 1);
}

static void test_place_in_a_sorted_list_is_that_of_the_first_equal_element(void **state)
{
	const uint64_t list[] = {2, 4, 4, 4, 7};
	const size_t places[] = {0, 0, 0, 1, 1, 4, 4, 4, 5};

	(void)state;
	for (uint64_t wanted = 0; wanted < ARRAY_SIZE(places); wanted++)
		assert_int_equal(sorted_place(&wanted, list, ARRAY_SIZE(list), sizeof(*list),
					      numbers_by_value),
				 places[wanted]);
	assert_int_equal(sorted_place(&list[0], NULL, 0, sizeof(*list), numbers_by_value), 0);
}

static void test_digits_are_read_up_to_the_largest_number(void **state)
{
	uint64_t number = 7;

	(void)state;
	assert_int_equal(number_read("0", 1, &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(number_read("0012x", 4, &number), 0);
	assert_int_equal(number, 12);
	assert_int_equal(number_read("18446744073709551615", 20, &number), 0);
	assert_true(number == UINT64_MAX);
	number = 7;
	assert_int_equal(number_read("18446744073709551616", 20, &number), -ERANGE);
	assert_int_equal(number_read("99999999999999999999", 20, &number), -ERANGE);
	assert_int_equal(number, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_are_compared_over_their_whole_range),
		cmocka_unit_test(test_duplicate_numbers_are_removed),
		cmocka_unit_test(test_unsorted_numbers_at_any_position_are_sorted),
		cmocka_unit_test(test_sorted_list_is_read_once),
		cmocka_unit_test(test_place_in_a_sorted_list_is_that_of_the_first_equal_element),
		cmocka_unit_test(test_digits_are_read_up_to_the_largest_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
