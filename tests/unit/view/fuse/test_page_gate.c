/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "unit_test.h"
#include "view/fuse/kernel_cache.h"

static void test_pages_stay_cached_only_after_an_open_of_the_same_content(void **state)
{
	struct page_gate *gate = calloc(1, sizeof(*gate));

	(void)state;
	assert_non_null(gate);
	assert_false(page_gate_may_keep(gate, 7, 100));
	assert_true(page_gate_may_keep(gate, 7, 100));
	assert_false(page_gate_may_keep(gate, 7, 101));
	assert_false(page_gate_may_keep(gate, 7, 100)); /* the kernel has pages of 101 */
	assert_true(page_gate_may_keep(gate, 7, 100));
	free(gate);
}

static void test_file_evicted_from_its_slot_loses_its_pages(void **state)
{
	struct page_gate *gate = calloc(1, sizeof(*gate));

	(void)state;
	assert_non_null(gate);
	assert_false(page_gate_may_keep(gate, 7, 100));
	assert_false(page_gate_may_keep(gate, 8, 200));
	assert_true(page_gate_may_keep(gate, 7, 100));
	assert_false(page_gate_may_keep(gate, 7 + PAGE_GATE_SLOTS, 300));
	assert_false(page_gate_may_keep(gate, 7, 100));
	assert_true(page_gate_may_keep(gate, 8, 200));
	free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages_stay_cached_only_after_an_open_of_the_same_content),
		cmocka_unit_test(test_file_evicted_from_its_slot_loses_its_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
