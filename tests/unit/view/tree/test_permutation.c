/* SPDX-License-Identifier: MIT */
#include <stdbool.h>

#include "unit_test.h"
#include "view/tree/node.h"

static void test_each_number_of_the_width_occurs_once(void **state)
{
	bool occurred[256] = {false};

	(void)state;
	for (uint64_t number = 0; number < 256; number++) {
		uint64_t permuted = permute(7, 4, number);

		assert_in_range(permuted, 0, 255);
		assert_false(occurred[permuted]);
		occurred[permuted] = true;
	}
}

static void test_permutation_is_reversible_at_any_width(void **state)
{
	(void)state;
	for (unsigned int half_bits = 1; half_bits <= 32; half_bits++) {
		uint64_t most = UINT64_MAX >> (64 - 2 * half_bits);

		for (uint64_t i = 0; i < 100; i++) {
			uint64_t number = (most - i * i) & most;

			assert_true(permute(i, half_bits, number) <= most);
			assert_true(permute_back(i, half_bits, permute(i, half_bits, number)) ==
				    number);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_number_of_the_width_occurs_once),
		cmocka_unit_test(test_permutation_is_reversible_at_any_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
