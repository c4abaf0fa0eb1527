/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"
#include "unit_test.h"

static void check_number(uint64_t number, const char *expected)
{
	char text[NUMBER_TEXT_MAX];

	assert_string_equal(number_format(text, number), expected);
}

static void test_thousands_are_separated_by_commas(void **state)
{
	(void)state;
	check_number(0, "0");
	check_number(999, "999");
	check_number(1000, "1,000");
	check_number(12345, "12,345");
	check_number(1234567, "1,234,567");
	check_number(UINT64_MAX, "18,446,744,073,709,551,615");
}

static void test_plural_is_for_all_but_one(void **state)
{
	(void)state;
	assert_string_equal(plural(0, "file", "files"), "files");
	assert_string_equal(plural(1, "file", "files"), "file");
	assert_string_equal(plural(2, "file", "files"), "files");
}

static void check_name(const char *name, const char *expected)
{
	CLEANUP_BYTES struct bytes text = {0};

	assert_int_equal(shell_name_append(&text, name, strlen(name)), 0);
	assert_string_equal(bytes_text(&text), expected);
}

static void test_plain_names_are_not_quoted(void **state)
{
	(void)state;
	check_name("/usr/share/doc", "/usr/share/doc");
	check_name("/a b/it's\\\"x\" (1)~2%2F", "/a b/it's\\\"x\" (1)~2%2F");
	check_name("/Grüße/∕/中文/😀", "/Grüße/∕/中文/😀");
}

static void test_names_that_would_be_misread_are_quoted(void **state)
{
	(void)state;
	check_name("", "$''");
	check_name(" a", "$' a'");
	check_name("a ", "$'a '");
	check_name("$'a'", "$'$\\'a\\''");
}

static void test_control_bytes_are_escaped(void **state)
{
	(void)state;
	check_name("a\nb\tc", "$'a\\nb\\tc'");
	check_name("\x1b[31m'\\", "$'\\033[31m\\'\\\\'");
	check_name("\x01"
		   "1",
		   "$'\\0011'");
}

static void test_bytes_that_are_not_utf8_are_escaped_one_by_one(void **state)
{
	(void)state;
	check_name("\xff"
		   "a\xe2\x88",
		   "$'\\377a\\342\\210'");
}

static void test_characters_that_mislead_are_escaped_byte_by_byte(void **state)
{
	(void)state;
	check_name("a\u202egpj", "$'a\\342\\200\\256gpj'");
}

static void test_long_names_are_never_cut(void **state)
{
	CLEANUP_BYTES struct bytes name = {0};
	CLEANUP_BYTES struct bytes text = {0};

	(void)state;
	for (size_t i = 0; i < 100000; i++)
		assert_int_equal(bytes_append(&name, i % 2 ? "\n" : "x", 1), 0);
	assert_int_equal(shell_name_append(&text, (const char *)name.data, name.length), 0);
	assert_int_equal(text.length, strlen("$''") + 50000 * strlen("x\\n"));
}

static void check_word(const char *word, const char *expected)
{
	CLEANUP_BYTES struct bytes text = {0};

	assert_int_equal(shell_word_append(&text, word, strlen(word)), 0);
	assert_string_equal(bytes_text(&text), expected);
}

static void test_words_are_quoted_if_a_shell_would_interpret_them(void **state)
{
	(void)state;
	check_word("/usr/share/doc-1.0_x,y:z=a+b%c@d", "/usr/share/doc-1.0_x,y:z=a+b%c@d");
	check_word("/My Photos", "'/My Photos'");
	check_word("~/it's", "'~/it'\\''s'");
	check_word("$(reboot)`x`", "$'$(reboot)`x`'");
	check_word("/a;b&c|d*e?f[g]h\"i\\j", "'/a;b&c|d*e?f[g]h\"i\\j'");
	check_word("/Grüße", "'/Grüße'");
	check_word("/a\nb\xff", "$'/a\\nb\\377'");
	check_word("", "$''");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thousands_are_separated_by_commas),
		cmocka_unit_test(test_plural_is_for_all_but_one),
		cmocka_unit_test(test_plain_names_are_not_quoted),
		cmocka_unit_test(test_names_that_would_be_misread_are_quoted),
		cmocka_unit_test(test_control_bytes_are_escaped),
		cmocka_unit_test(test_bytes_that_are_not_utf8_are_escaped_one_by_one),
		cmocka_unit_test(test_characters_that_mislead_are_escaped_byte_by_byte),
		cmocka_unit_test(test_long_names_are_never_cut),
		cmocka_unit_test(test_words_are_quoted_if_a_shell_would_interpret_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
