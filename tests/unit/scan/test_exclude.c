/* SPDX-License-Identifier: MIT */

#include "scan/listing.h"
#include "unit_test.h"

static bool leaves_out(char *const *globs, const char *dir_path, const char *name)
{
	size_t which;

	return exclude_matches(globs, dir_path, name, &which) == EXCLUDE_NAME;
}

static bool matches(const char *glob, const char *dir_path, const char *name)
{
	char *globs[] = {(char *)(uintptr_t)glob, NULL};

	return leaves_out(globs, dir_path, name);
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
	assert_true(leaves_out(globs, "src", "a.o"));
	assert_true(leaves_out(globs, "", "build"));
	assert_false(leaves_out(globs, "src", "build"));
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
	assert_false(leaves_out(NULL, "", "a"));
	assert_false(leaves_out(none, "", "a"));
}

static void test_names_that_are_not_utf8_are_matched(void **state)
{
	(void)state;
	assert_true(matches("*.bak", "", "\xff\xfe.bak"));
	assert_true(matches("a/*", "a", "\n\x80"));
	assert_true(matches("\xff*", "", "\xff!"));
}

static void test_glob_with_a_slash_at_the_end_leaves_out_folders(void **state)
{
	char cache[] = "cache/", path[] = "/a/b/", name[] = "*.o";
	char *globs[] = {cache, path, name, NULL};
	size_t which = 9;

	(void)state;
	assert_int_equal(exclude_matches(globs, "x/y", "cache", &which), EXCLUDE_FOLDER);
	assert_int_equal(which, 0);
	assert_int_equal(exclude_matches(globs, "a", "b", &which), EXCLUDE_FOLDER);
	assert_int_equal(which, 1);
	assert_int_equal(exclude_matches(globs, "a", "b.o", &which), EXCLUDE_NAME);
	assert_int_equal(which, 2);
	assert_int_equal(exclude_matches(globs, "x/a", "b", &which), EXCLUDE_NONE);
	assert_true(exclude_has_paths(globs));
	globs[1] = name;
	assert_false(exclude_has_paths(globs));
}

static void test_glob_for_any_name_precedes_one_for_folders(void **state)
{
	char folder[] = "a/", name[] = "a", *globs[] = {folder, name, NULL};
	size_t which;

	(void)state;
	assert_int_equal(exclude_matches(globs, "", "a", &which), EXCLUDE_NAME);
	assert_int_equal(which, 1);
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
		cmocka_unit_test(test_glob_with_a_slash_at_the_end_leaves_out_folders),
		cmocka_unit_test(test_glob_for_any_name_precedes_one_for_folders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
