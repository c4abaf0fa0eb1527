/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "unit_test.h"
#include "view/fuse/kernel_cache.h"

#define VERSIONS (UINT32_C(1) << NODE_VERSION_BITS)

static void test_first_generation_needs_no_lookup(void **state)
{
	struct generations *generations = calloc(1, sizeof(*generations));

	(void)state;
	assert_non_null(generations);
	assert_true(generations_has(generations, 7, 0));
	assert_true(generations_has(generations, 7, VERSIONS - 1));
	generations_record(generations, 7, VERSIONS - 1);
	assert_false(generations_has(generations, 7, VERSIONS));
	free(generations);
}

static void test_later_generation_is_opened_only_if_it_was_looked_up(void **state)
{
	struct generations *generations = calloc(1, sizeof(*generations));

	(void)state;
	assert_non_null(generations);
	generations_record(generations, 7, VERSIONS + 5);
	assert_true(generations_has(generations, 7, VERSIONS + 5));
	assert_false(generations_has(generations, 7, 2 * VERSIONS + 5));
	assert_false(generations_has(generations, 7, UINT32_MAX));
	assert_false(generations_has(generations, 8, VERSIONS + 5));
	free(generations);
}

static void test_files_of_one_slot_are_distinguished(void **state)
{
	struct generations *generations = calloc(1, sizeof(*generations));
	const uint64_t other = 7 + (UINT64_C(1) << GENERATIONS_SLOT_BITS);
	const uint64_t last = (UINT64_C(1) << NODE_ID_BITS) - 1;

	(void)state;
	assert_non_null(generations);
	generations_record(generations, 7, VERSIONS);
	assert_false(generations_has(generations, other, VERSIONS));
	generations_record(generations, other, VERSIONS);
	assert_true(generations_has(generations, other, VERSIONS));
	assert_false(generations_has(generations, 7, VERSIONS));
	generations_record(generations, last, UINT32_MAX);
	assert_true(generations_has(generations, last, UINT32_MAX));
	free(generations);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_generation_needs_no_lookup),
		cmocka_unit_test(test_later_generation_is_opened_only_if_it_was_looked_up),
		cmocka_unit_test(test_files_of_one_slot_are_distinguished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
