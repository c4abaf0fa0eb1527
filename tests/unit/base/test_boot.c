/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/kernel.h"
#include "unit_test.h"

static void test_boot_identifier_stays_the_same(void **state)
{
	char first[BOOT_ID_MAX], second[BOOT_ID_MAX];

	(void)state;
	assert_int_equal(strlen(boot_id(first)), 36);
	assert_string_equal(first, boot_id(second));
	assert_null(strchr(first, '\n'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boot_identifier_stays_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
