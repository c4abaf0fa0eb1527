/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>

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

static void test_permuted_ids_stay_in_their_range(void **state)
{
	enum {
		RANGE = 1 << 20
	};
	bool *occurred = calloc(RANGE, sizeof(*occurred));

	(void)state;
	assert_non_null(occurred);
	for (uint64_t id = 1; id < RANGE; id++) {
		uint64_t permuted = permute_id(7, id);

		assert_true(permuted < UINT64_C(1) << 26);
		if (permuted < RANGE) {
			assert_false(occurred[permuted]);
			occurred[permuted] = true;
		}
	}
	for (unsigned int bits = 28; bits <= 48; bits += 2) {
		uint64_t least = UINT64_C(1) << (bits - 2), most = (UINT64_C(1) << bits) - 1;

		for (uint64_t i = 0; i < 100; i++) {
			assert_in_range(permute_id(i, least + i), least, most);
			assert_in_range(permute_id(i, most - i), least, most);
			assert_int_not_equal(permute_id(7, least), permute_id(7, least + 1 + i));
		}
	}
	free(occurred);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_number_of_the_width_occurs_once),
		cmocka_unit_test(test_permutation_is_reversible_at_any_width),
		cmocka_unit_test(test_permuted_ids_stay_in_their_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
