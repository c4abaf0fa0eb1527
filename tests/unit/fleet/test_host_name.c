/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "fleet/json_lines.h"
#include "unit_test.h"

static void test_names_of_files_are_valid(void **state)
{
	(void)state;
	assert_true(host_name_is_valid("a"));
	assert_true(host_name_is_valid("7"));
	assert_true(host_name_is_valid("Museum-2.example_org"));
}

static void test_names_that_lead_elsewhere_are_invalid(void **state)
{
	static const char *const names[] = {"",    ".",   "..",  ".a",    "-a",   "_a",
					    "a/b", "a b", "a\n", "a\x7f", "\xff", "\xc3\xa9"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(host_name_is_valid(names[i]));
}

static void test_length_is_bounded(void **state)
{
	char name[HOST_NAME_BYTES_MAX + 2] = "";

	(void)state;
	memset(name, 'a', HOST_NAME_BYTES_MAX);
	assert_true(host_name_is_valid(name));
	name[HOST_NAME_BYTES_MAX] = 'a';
	assert_false(host_name_is_valid(name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_files_are_valid),
		cmocka_unit_test(test_names_that_lead_elsewhere_are_invalid),
		cmocka_unit_test(test_length_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
