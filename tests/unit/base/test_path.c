/* SPDX-License-Identifier: MIT */

#include "base/path.h"
#include "unit_test.h"

static void test_path_in_a_folder_becomes_relative_to_it(void **state)
{
	(void)state;
	assert_string_equal(path_below("/a/b/c", "/a"), "b/c");
	assert_string_equal(path_below("/a/b", "/a/b"), "");
	assert_string_equal(path_below("/a", "/"), "a");
	assert_string_equal(path_below("/", "/"), "");
}

static void test_path_with_the_same_prefix_is_not_in_the_folder(void **state)
{
	(void)state;
	assert_null(path_below("/ab", "/a"));
	assert_null(path_below("/a", "/a/b"));
	assert_null(path_below("/b/a", "/a"));
}

static void test_relative_path_in_a_relative_folder_becomes_relative_to_it(void **state)
{
	(void)state;
	assert_string_equal(path_below("a/b/c", "a/b"), "c");
	assert_null(path_below("a/bc", "a/b"));
}

static void test_glob_without_a_slash_is_matched_with_the_last_name(void **state)
{
	(void)state;
	assert_true(glob_matches("*.bak", "a.bak"));
	assert_true(glob_matches("*.bak", "deep/down/.bak"));
	assert_false(glob_matches("*.bak", "a.bak/b"));
	assert_false(glob_matches("a*b", "a/b"));
}

static void test_glob_with_a_slash_is_matched_with_the_path(void **state)
{
	(void)state;
	assert_true(glob_matches("/a/b", "a/b"));
	assert_true(glob_matches("a/*/b", "a/x/b"));
	assert_false(glob_matches("/a", "x/a"));
	assert_false(glob_matches("a/*", "a/x/b"));
}

static void test_glob_that_matches_a_parent_matches_the_path_within(void **state)
{
	(void)state;
	assert_true(glob_matches_within("*.bak", "x/a.bak/b/c"));
	assert_true(glob_matches_within("*.bak", "a.bak"));
	assert_true(glob_matches_within("b?", "x/b1"));
	assert_true(glob_matches_within("/a", "a/b/c"));
	assert_true(glob_matches_within("a/*", "a/x/b"));
	assert_true(glob_matches_within("a/*/*", "a/x/b"));
	assert_true(glob_matches_within("*", "a/x/b"));
	assert_false(glob_matches_within("a/*/*", "a/x"));
	assert_false(glob_matches_within("/b", "a/b/c"));
	assert_false(glob_matches_within("a*c", "a/c"));
	assert_false(glob_matches_within("a*c", "ab/bc"));
	assert_false(glob_matches_within("/a/b", "a/bc"));
	assert_false(glob_matches_within("b", "ab/bc/c"));
}

static void test_backslash_makes_the_next_letter_literal(void **state)
{
	(void)state;
	assert_true(glob_matches_within("\\*", "x/*"));
	assert_false(glob_matches_within("\\*", "x/a"));
	assert_true(glob_matches_within("a\\,b", "a,b"));
}

static void test_names_that_are_not_utf8_are_matched(void **state)
{
	(void)state;
	assert_true(glob_matches_within("*\n*", "a/\xff\n\x80/b"));
	assert_true(glob_matches_within("\xff?", "\xff\xfe"));
}

static void test_glob_with_a_slash_at_the_end_is_matched_with_folders(void **state)
{
	(void)state;
	assert_false(glob_has_slash("2019/"));
	assert_true(glob_has_slash("/2019/"));
	assert_true(glob_has_slash("a/2019//"));
	assert_true(glob_is_for_folders("2019/"));
	assert_false(glob_is_for_folders("a/2019"));
	assert_true(glob_matches("2019/", "a/2019"));
	assert_true(glob_matches("a/20?9/", "a/2019"));
	assert_true(glob_matches_within("2019/", "2019/x"));
	assert_true(glob_matches_within("2019//", "a/b/2019/c/x"));
	assert_true(glob_matches_within("a/2019/", "a/2019/x"));
	assert_true(glob_matches_within("20*/", "a/2019/x"));
	assert_false(glob_matches_within("2019/", "a/2019"));
	assert_false(glob_matches_within("20*/", "a/2019.txt"));
	assert_false(glob_matches_within("/2019/", "a/2019/x"));
	assert_false(glob_matches_within("a/2019/", "b/a/2019/x"));
	assert_false(glob_matches_within("/", "a/b"));
	assert_false(glob_matches("//", "a"));
}

static void test_case_is_ignored_on_request(void **state)
{
	(void)state;
	assert_true(glob_matches_within_any_case("*.JPG", "a/b.jpg"));
	assert_true(glob_matches_within_any_case("dcim/", "DCIM/x"));
	assert_true(glob_matches_within_any_case("/Dcim/*", "dCIM/x"));
	assert_false(glob_matches_within("*.JPG", "a/b.jpg"));
	assert_false(glob_matches_within_any_case("DCIM/", "x/dcim"));
}

static void test_malformed_globs_are_found(void **state)
{
	static const char *const malformed[] = {"",      "/",   "//",   "[a",        "a[",
						"[]",    "[!]", "[^]",  "[a/b]",     "x/[a/y]",
						"[a\\]", "a\\", "a\\/", "[[:alpha:]"};
	static const char *const sound[] = {"*",         "a/",     "[a]",  "[]]",         "[!]a]",
					    "\\[a",      "[a\\]]", "\\\\", "[[:alpha:]]", "[[]",
					    "[a-z]/[b]", "]",      "a]b",  "[^]]",        "[\\]]"};

	(void)state;
	for (size_t i = 0; i < sizeof(malformed) / sizeof(*malformed); i++)
		assert_non_null(glob_fault(malformed[i]));
	for (size_t i = 0; i < sizeof(sound) / sizeof(*sound); i++)
		assert_null(glob_fault(sound[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path_in_a_folder_becomes_relative_to_it),
		cmocka_unit_test(test_path_with_the_same_prefix_is_not_in_the_folder),
		cmocka_unit_test(test_relative_path_in_a_relative_folder_becomes_relative_to_it),
		cmocka_unit_test(test_glob_without_a_slash_is_matched_with_the_last_name),
		cmocka_unit_test(test_glob_with_a_slash_is_matched_with_the_path),
		cmocka_unit_test(test_glob_that_matches_a_parent_matches_the_path_within),
		cmocka_unit_test(test_backslash_makes_the_next_letter_literal),
		cmocka_unit_test(test_names_that_are_not_utf8_are_matched),
		cmocka_unit_test(test_glob_with_a_slash_at_the_end_is_matched_with_folders),
		cmocka_unit_test(test_case_is_ignored_on_request),
		cmocka_unit_test(test_malformed_globs_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
