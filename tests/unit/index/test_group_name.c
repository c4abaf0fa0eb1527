/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "index/query.h"
#include "unit_test.h"

#define DIGITS "0123456789abcdeffedcba9876543210"

static const struct hash128 hash = {UINT64_C(0x0123456789abcdef), UINT64_C(0xfedcba9876543210)};

static void assert_name(uint32_t ordinal, const char *expected)
{
	char name[GROUP_NAME_SIZE];
	struct hash128 back;
	uint32_t back_ordinal;

	group_name_make(name, hash, ordinal);
	assert_string_equal(name, expected);
	assert_true(group_name_parse(name, &back, &back_ordinal));
	assert_int_equal(back.high, hash.high);
	assert_int_equal(back.low, hash.low);
	assert_int_equal(back_ordinal, ordinal);
}

static void test_the_first_content_is_the_bare_hash(void **state)
{
	(void)state;
	assert_name(1, DIGITS);
}

static void test_further_contents_are_numbered(void **state)
{
	(void)state;
	assert_name(2, DIGITS "~2");
	assert_name(1000, DIGITS "~1000");
	assert_name(UINT32_MAX, DIGITS "~4294967295");
}

static void test_name_that_is_never_made_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"0",
		"0123456789abcdeffedcba987654321",
		"0123456789ABCDEFFEDCBA9876543210",
		"0123456789abcdeffedcba987654321g",
		DIGITS "0",
		DIGITS "~",
		DIGITS "~0",
		DIGITS "~1",
		DIGITS "~02",
		DIGITS "~2x",
		DIGITS "~-2",
		DIGITS "~4294967296",
		DIGITS "~99999999999999999999999999",
	};
	struct hash128 back;
	uint32_t ordinal;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(group_name_parse(wrong[i], &back, &ordinal));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_content_is_the_bare_hash),
		cmocka_unit_test(test_further_contents_are_numbered),
		cmocka_unit_test(test_name_that_is_never_made_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
