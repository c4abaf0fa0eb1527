/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "unit_test.h"

static void test_memory_for_reading_has_complete_pages(void **state)
{
	static const size_t sizes[] = {1, 4095, 4096, 4097, (size_t)6 << 20};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		void *memory AUTO_FREE = memory_pages(sizes[i]);

		assert_non_null(memory);
		assert_int_equal((uintptr_t)memory % MEMORY_PAGE_BYTES, 0);
		memset(memory, 1, sizes[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_for_reading_has_complete_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
