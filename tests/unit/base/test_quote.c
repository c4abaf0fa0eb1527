/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "unit_test.h"

static void test_plain_path_is_only_put_in_quotes(void **state)
{
	(void)state;
	assert_string_equal(quote_path("/a b/Grüße ∕ 中文 😀~1%2F$x\"y"),
			    "'/a b/Grüße ∕ 中文 😀~1%2F$x\"y'");
	assert_string_equal(quote_path(""), "''");
}

static void test_quotes_and_backslashes_are_escaped(void **state)
{
	(void)state;
	assert_string_equal(quote_path("it's\\n"), "'it\\'s\\\\n'");
}

static void test_control_bytes_are_escaped(void **state)
{
	(void)state;
	assert_string_equal(quote_path("a\nb\tc\rd\x1b[31me\x7f\x01"),
			    "'a\\nb\\tc\\rd\\x1b[31me\\x7f\\x01'");
}

static void test_bytes_that_are_not_utf8_are_escaped_one_by_one(void **state)
{
	(void)state;
	assert_string_equal(quote_path("\xff"
				       "a\xc3"
				       "b\xe2\x88"),
			    "'\\xffa\\xc3b\\xe2\\x88'");
}

static void test_characters_that_mislead_are_escaped(void **state)
{
	(void)state;
	assert_string_equal(quote_path("a\u202egpj.exe"), "'a\\u202egpj.exe'");
	assert_string_equal(quote_path("\u2066\u00ad\ufeff\xc2\x85"),
			    "'\\u2066\\u00ad\\ufeff\\u0085'");
	assert_string_equal(quote_path("\U000e0041"), "'\\U000e0041'");
}

static void test_bytes_with_nuls_and_without_a_final_nul_are_quoted(void **state)
{
	(void)state;
	assert_string_equal(quote_bytes("a\0b_", 3), "'a\\x00b'");
	/* the first two bytes of a character of three */
	assert_string_equal(quote_bytes("∕", 2), "'\\xe2\\x88'");
}

static void test_four_results_are_valid_at_the_same_time(void **state)
{
	const char *first = quote_path("1");
	const char *second = quote_path("2");
	const char *third = quote_path("3");
	const char *fourth = quote_path("4");

	(void)state;
	assert_string_equal(first, "'1'");
	assert_string_equal(second, "'2'");
	assert_string_equal(third, "'3'");
	assert_string_equal(fourth, "'4'");
}

static void test_long_path_is_cut_between_characters(void **state)
{
	static const char *const units[] = {"a", "∕", "\n", "\xff", "\U000e0041", "😀"};
	static char path[20000];

	(void)state;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const char *quoted;
		size_t length;

		path[0] = '\0';
		for (size_t n = 0; n < 5000 / strlen(units[i]); n++)
			memcpy(path + n * strlen(units[i]), units[i], strlen(units[i]) + 1);
		quoted = quote_path(path);
		length = strlen(quoted);
		assert_in_range(length, 4000, 4400);
		assert_string_equal(quoted + length - strlen("…'"), "…'");
		for (size_t at = 0; at < length;) {
			uint32_t code;
			size_t taken = utf8_decode(quoted + at, length - at, &code);

			assert_true(taken > 0);
			assert_false(utf8_is_unfit(code));
			at += taken;
		}
	}
}

static void test_path_of_the_longest_kind_the_kernel_takes_is_not_cut(void **state)
{
	char path[4096];
	const char *quoted;

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	quoted = quote_path(path);
	assert_int_equal(strlen(quoted), strlen(path) + 2);
	assert_memory_equal(quoted + 1, path, strlen(path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_path_is_only_put_in_quotes),
		cmocka_unit_test(test_quotes_and_backslashes_are_escaped),
		cmocka_unit_test(test_control_bytes_are_escaped),
		cmocka_unit_test(test_bytes_that_are_not_utf8_are_escaped_one_by_one),
		cmocka_unit_test(test_characters_that_mislead_are_escaped),
		cmocka_unit_test(test_bytes_with_nuls_and_without_a_final_nul_are_quoted),
		cmocka_unit_test(test_four_results_are_valid_at_the_same_time),
		cmocka_unit_test(test_long_path_is_cut_between_characters),
		cmocka_unit_test(test_path_of_the_longest_kind_the_kernel_takes_is_not_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
