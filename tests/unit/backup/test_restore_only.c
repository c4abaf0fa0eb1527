/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "backup/restore.h"
#include "folder.h"
#include "unit_test.h"

static enum restore_part part(const struct restore_only *only, const char *path)
{
	return restore_only_part(only, path, strlen(path));
}

static void test_without_paths_all_is_restored(void **state)
{
	const struct restore_only only = {.found = NULL};

	(void)state;
	assert_int_equal(part(&only, ""), RESTORE_WHOLE);
	assert_int_equal(part(&only, "a/b"), RESTORE_WHOLE);
}

static void test_path_is_restored_with_all_below_it_and_the_folders_above(void **state)
{
	struct restore_only only = {0};

	(void)state;
	assert_int_equal(restore_only_add(&only, "a/b//"), 0);
	assert_int_equal(restore_only_add(&only, "c"), 0);
	assert_int_equal(part(&only, ""), RESTORE_ABOVE);
	assert_int_equal(part(&only, "a"), RESTORE_ABOVE);
	assert_int_equal(part(&only, "a/b"), RESTORE_WHOLE);
	assert_int_equal(part(&only, "a/b/c/d"), RESTORE_WHOLE);
	assert_int_equal(part(&only, "c"), RESTORE_WHOLE);
	assert_int_equal(part(&only, "a/bc"), RESTORE_NOTHING);
	assert_int_equal(part(&only, "a/"), RESTORE_NOTHING);
	assert_int_equal(part(&only, "ab"), RESTORE_NOTHING);
	assert_int_equal(part(&only, "b"), RESTORE_NOTHING);
	restore_only_free(&only);
}

static void test_path_that_no_manifest_has_is_refused(void **state)
{
	static const char *const wrong[] = {"", "/", "/a", "a//b", "../a", "a/./b"};
	struct restore_only only = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(restore_only_add(&only, wrong[i]), -EINVAL);
	assert_int_equal(only.paths.count, 0);
	restore_only_free(&only);
}

static void test_path_is_missing_if_neither_manifest_nor_backup_has_it(void **state)
{
	const struct folder *folder = *state;
	struct restore_only only = {0};

	assert_int_equal(restore_only_add(&only, "a/b"), 0);
	assert_int_equal(restore_only_add(&only, "c"), 0);
	assert_string_equal(restore_only_find_missing(&only, folder->fd), "a/b");
	restore_only_note(&only, "a", 1);
	assert_string_equal(restore_only_find_missing(&only, folder->fd), "a/b");
	restore_only_note(&only, "a/b/x", 5);
	assert_string_equal(restore_only_find_missing(&only, folder->fd), "c");
	make_file(folder->fd, "c", "", 0);
	assert_null(restore_only_find_missing(&only, folder->fd));
	restore_only_free(&only);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_paths_all_is_restored),
		cmocka_unit_test(test_path_is_restored_with_all_below_it_and_the_folders_above),
		cmocka_unit_test(test_path_that_no_manifest_has_is_refused),
		TEST_IN_FOLDER(test_path_is_missing_if_neither_manifest_nor_backup_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
