/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "unit_test.h"
#include "view/fuse/kernel_cache.h"

static void test_added_group_is_taken_once(void **state)
{
	struct listed_groups listed;
	uint64_t *nodes;

	(void)state;
	listed_groups_init(&listed);
	for (int round = 0; round < 3; round++) {
		for (uint64_t node = 1; node <= 1000; node++) {
			assert_int_equal(listed_groups_add(&listed, node * 7919 % 1000), 0);
			assert_int_equal(listed_groups_add(&listed, node * 7919 % 1000), 0);
		}
	}
	assert_int_equal(listed_groups_take(&listed, &nodes), 1000);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(nodes[i], i);
	free(nodes);
	assert_int_equal(listed_groups_take(&listed, &nodes), 0);
	free(nodes);
	assert_int_equal(listed_groups_add(&listed, 5), 0);
	assert_int_equal(listed_groups_take(&listed, &nodes), 1);
	assert_int_equal(nodes[0], 5);
	free(nodes);
	listed_groups_deinit(&listed);
}

static void test_groups_listed_repeatedly_take_no_more_memory(void **state)
{
	struct listed_groups listed;
	uint64_t *nodes;

	(void)state;
	listed_groups_init(&listed);
	for (uint64_t i = 0; i < 100000; i++)
		assert_int_equal(listed_groups_add(&listed, i % 10), 0);
	assert_true(listed.capacity <= 64);
	assert_int_equal(listed_groups_take(&listed, &nodes), 10);
	free(nodes);
	listed_groups_deinit(&listed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_added_group_is_taken_once),
		cmocka_unit_test(test_groups_listed_repeatedly_take_no_more_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
