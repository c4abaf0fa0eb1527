/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "unit_test.h"
#include "view/fuse/kernel_cache.h"

static void test_marked_node_is_found(void **state)
{
	struct cached_marks *cached = calloc(1, sizeof(*cached));

	(void)state;
	assert_non_null(cached);
	for (uint64_t kind = 0; kind < 4; kind++) {
		for (uint64_t id = 1; id < 5000; id++) {
			cached_marks_set(cached, kind << 48 | id);
			/* a second mark changes nothing */
			cached_marks_set(cached, kind << 48 | id);
		}
	}
	for (uint64_t kind = 0; kind < 4; kind++) {
		for (uint64_t id = 1; id < 5000; id++)
			assert_true(cached_marks_has(cached, kind << 48 | id));
	}
	free(cached);
}

static void test_few_other_nodes_are_reported_as_marked(void **state)
{
	struct cached_marks *cached = calloc(1, sizeof(*cached));
	unsigned int wrong = 0;

	(void)state;
	assert_non_null(cached);
	assert_false(cached_marks_has(cached, 0));
	assert_false(cached_marks_has(cached, UINT64_MAX));
	for (uint64_t id = 0; id < 400000; id++)
		cached_marks_set(cached, UINT64_C(3) << 48 | id);
	for (uint64_t id = 400000; id < 500000; id++)
		wrong += cached_marks_has(cached, UINT64_C(3) << 48 | id) ||
			 cached_marks_has(cached, UINT64_C(1) << 48 | id);
	assert_true(wrong < 12000);
	free(cached);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_marked_node_is_found),
		cmocka_unit_test(test_few_other_nodes_are_reported_as_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
