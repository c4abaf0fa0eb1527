/* SPDX-License-Identifier: MIT */
#include "base/array.h"
#include "unit_test.h"

#define NUMBERS 5000

/* Numbers that differ in their high bits only share all slots of a small set. */
static uint64_t number_at(size_t i, unsigned int shift)
{
	return ((uint64_t)i + 1) << shift;
}

static void check_with_shift(unsigned int shift)
{
	struct number_set set = {.count = 0};

	assert_false(number_set_has(&set, number_at(0, shift)));
	for (size_t i = 0; i < NUMBERS; i++) {
		assert_false(number_set_has(&set, number_at(i, shift)));
		assert_int_equal(number_set_add(&set, number_at(i, shift)), 1);
		assert_true(number_set_has(&set, number_at(i, shift)));
		assert_int_equal(number_set_add(&set, number_at(i / 2, shift)), 0);
	}
	for (size_t i = 0; i < NUMBERS; i++)
		assert_int_equal(number_set_add(&set, number_at(i, shift)), 0);
	assert_int_equal(set.count, NUMBERS);
	assert_false(number_set_has(&set, 0));
	number_set_free(&set);
	assert_int_equal(set.capacity, 0);
}

static void test_number_is_new_exactly_once(void **state)
{
	(void)state;
	check_with_shift(0);
	check_with_shift(40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_number_is_new_exactly_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
