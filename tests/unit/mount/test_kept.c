/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mount/kept.h"

static void test_what_was_marked_is_found(void **state)
{
	struct kept *kept = calloc(1, sizeof(*kept));

	(void)state;
	assert_non_null(kept);
	for (uint64_t kind = 0; kind < 4; kind++) {
		for (uint64_t id = 1; id < 5000; id++) {
			kept_mark(kept, kind << 48 | id);
			kept_mark(kept, kind << 48 | id); /* again changes nothing */
		}
	}
	for (uint64_t kind = 0; kind < 4; kind++) {
		for (uint64_t id = 1; id < 5000; id++)
			assert_true(kept_is_marked(kept, kind << 48 | id));
	}
	free(kept);
}

static void test_few_others_are_taken_for_marked(void **state)
{
	struct kept *kept = calloc(1, sizeof(*kept));
	unsigned int wrong = 0;

	(void)state;
	assert_non_null(kept);
	assert_false(kept_is_marked(kept, 0));
	assert_false(kept_is_marked(kept, UINT64_MAX));
	for (uint64_t id = 0; id < 400000; id++)
		kept_mark(kept, UINT64_C(3) << 48 | id);
	for (uint64_t id = 400000; id < 500000; id++)
		wrong += kept_is_marked(kept, UINT64_C(3) << 48 | id) ||
			 kept_is_marked(kept, UINT64_C(1) << 48 | id);
	assert_true(wrong < 12000);
	free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_marked_is_found),
		cmocka_unit_test(test_few_others_are_taken_for_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
