/* SPDX-License-Identifier: MIT */

#include "ingest/exclude.h"
#include "unit_test.h"

static bool matches(const char *glob, const char *dir_path, const char *name)
{
	char *globs[] = {(char *)(uintptr_t)glob, NULL};

	return exclude_matches(globs, dir_path, name);
}

static void test_glob_without_a_slash_is_matched_with_the_name(void **state)
{
	(void)state;
	assert_true(matches("*.bak", "", "a.bak"));
	assert_true(matches("*.bak", "deep/down", ".bak"));
	assert_true(matches("[ab]?", "x", "b7"));
	assert_false(matches("*.bak", "a.bak", "b"));
	assert_false(matches("bak", "", "a.bak"));
	assert_true(matches(".*", "", ".git"));
	assert_true(matches("\\*", "", "*"));
	assert_false(matches("\\*", "", "a"));
}

static void test_glob_with_a_slash_is_matched_with_the_path(void **state)
{
	(void)state;
	assert_true(matches("a/b", "a", "b"));
	assert_true(matches("/a/b", "a", "b"));
	assert_true(matches("/a", "", "a"));
	assert_false(matches("/a", "x", "a"));
	assert_false(matches("a/b", "x/a", "b"));
	assert_true(matches("*/b", "a", "b"));
	assert_false(matches("*/b", "a/x", "b"));
	assert_false(matches("a/*", "a/x", "b"));
	assert_true(matches("a/*/b", "a/x", "b"));
}

static void test_one_matching_glob_of_several_is_enough(void **state)
{
	char one[] = "*.o", other[] = "/build", *globs[] = {one, other, NULL};

	(void)state;
	assert_true(exclude_matches(globs, "src", "a.o"));
	assert_true(exclude_matches(globs, "", "build"));
	assert_false(exclude_matches(globs, "src", "build"));
}

static void test_only_globs_with_a_slash_need_the_path(void **state)
{
	char plain[] = "*.o", path[] = "a/b", *globs[] = {plain, path, NULL},
	     *none[] = {plain, NULL};

	(void)state;
	assert_true(exclude_has_paths(globs));
	assert_false(exclude_has_paths(none));
	assert_false(exclude_has_paths(NULL));
}

static void test_without_globs_nothing_is_excluded(void **state)
{
	char *none[] = {NULL};

	(void)state;
	assert_false(exclude_matches(NULL, "", "a"));
	assert_false(exclude_matches(none, "", "a"));
}

static void test_names_that_are_not_utf8_are_matched(void **state)
{
	(void)state;
	assert_true(matches("*.bak", "", "\xff\xfe.bak"));
	assert_true(matches("a/*", "a", "\n\x80"));
	assert_true(matches("\xff*", "", "\xff!"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_glob_without_a_slash_is_matched_with_the_name),
		cmocka_unit_test(test_glob_with_a_slash_is_matched_with_the_path),
		cmocka_unit_test(test_one_matching_glob_of_several_is_enough),
		cmocka_unit_test(test_only_globs_with_a_slash_need_the_path),
		cmocka_unit_test(test_without_globs_nothing_is_excluded),
		cmocka_unit_test(test_names_that_are_not_utf8_are_matched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
