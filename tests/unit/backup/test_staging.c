/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "backup/restore.h"
#include "backup/restoring.h"
#include "folder.h"
#include "unit_test.h"

#define TASK "restore this\n"

static void begin(struct staging *staging, const struct folder *folder)
{
	assert_int_equal(staging_init(staging, folder->fd, RESTORE_FOLDER, TASK), 0);
}

static void make(const struct staging *staging)
{
	make_file(staging->folder, STAGING_FILE, "bytes", 5);
}

static ino_t inode_of(int directory, const char *name)
{
	struct stat status;

	assert_int_equal(fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW), 0);
	return status.st_ino;
}

static nlink_t links_of(int directory, const char *name)
{
	struct stat status;

	assert_int_equal(fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW), 0);
	return status.st_nlink;
}

static void test_folder_is_removed_at_the_end(void **state)
{
	const struct folder *folder = *state;
	struct staging staging;

	begin(&staging, folder);
	assert_false(staging.resumed);
	make(&staging);
	assert_int_equal(staging_place(&staging, NULL, folder->fd, "a"), 0);
	make(&staging);
	assert_int_equal(staging_place(&staging, "key", folder->fd, "b"), 0);
	assert_int_equal(staging_remove(&staging), 0);
	staging_deinit(&staging);
	assert_true(exists_at(folder->fd, "a") && exists_at(folder->fd, "b"));
	assert_int_equal(links_of(folder->fd, "b"), 1);
	assert_false(exists_at(folder->fd, RESTORE_FOLDER));
}

static void test_only_the_same_task_is_continued(void **state)
{
	const struct folder *folder = *state;
	struct staging staging;

	begin(&staging, folder);
	make(&staging);
	staging_deinit(&staging);
	assert_int_equal(staging_init(&staging, folder->fd, RESTORE_FOLDER, "another\n"),
			 STAGING_OTHER);
	staging_deinit(&staging);
	begin(&staging, folder);
	assert_true(staging.resumed);
	assert_true(staging.trusted);
	assert_false(exists_at(staging.folder, STAGING_FILE));
	staging_deinit(&staging);
}

static void test_folder_with_foreign_files_is_refused(void **state)
{
	const struct folder *folder = *state;
	struct staging staging;

	make_file(folder->fd, "a", "", 0);
	assert_int_equal(staging_init(&staging, folder->fd, RESTORE_FOLDER, TASK),
			 STAGING_NOT_EMPTY);
	staging_deinit(&staging);
	assert_false(exists_at(folder->fd, RESTORE_FOLDER));
	/* a leftover folder without a state is accepted, any other is not */
	assert_int_equal(mkdirat(folder->fd, RESTORE_FOLDER, 0700), 0);
	assert_int_equal(staging_init(&staging, folder->fd, RESTORE_FOLDER, TASK), STAGING_ENDED);
	staging_deinit(&staging);
	make_file(folder->fd, RESTORE_FOLDER "/file", "", 0);
	assert_int_equal(staging_init(&staging, folder->fd, RESTORE_FOLDER, TASK),
			 STAGING_NOT_EMPTY);
	staging_deinit(&staging);
	assert_int_equal(unlinkat(folder->fd, "a", 0), 0);
	begin(&staging, folder);
	assert_false(staging.resumed);
	staging_deinit(&staging);
}

static void test_second_process_is_refused(void **state)
{
	const struct folder *folder = *state;
	struct staging first;
	struct staging second;

	begin(&first, folder);
	assert_int_equal(staging_init(&second, folder->fd, RESTORE_FOLDER, TASK), STAGING_BUSY);
	staging_deinit(&second);
	staging_deinit(&first);
}

static void test_symlink_in_place_of_the_folder_is_not_followed(void **state)
{
	const struct folder *folder = *state;
	struct staging staging;

	assert_int_equal(mkdirat(folder->fd, "elsewhere", 0700), 0);
	assert_int_equal(symlinkat("elsewhere", folder->fd, RESTORE_FOLDER), 0);
	assert_int_equal(staging_init(&staging, folder->fd, RESTORE_FOLDER, TASK), -ENOTDIR);
	staging_deinit(&staging);
	assert_false(exists_at(folder->fd, "elsewhere/state"));
}

static void test_names_of_one_inode_are_linked_and_the_last_one_removes_the_staged_file(
	void **state)
{
	const struct folder *folder = *state;
	struct staging staging;

	begin(&staging, folder);
	assert_int_equal(staging_link(&staging, "key", folder->fd, "a", 3), -ENOENT);
	make(&staging);
	assert_int_equal(staging_place(&staging, "key", folder->fd, "a"), 0);
	assert_int_equal(staging_link(&staging, "key", folder->fd, "b", 3), 0);
	assert_true(exists_at(staging.links, "key"));
	assert_int_equal(staging_link(&staging, "key", folder->fd, "c", 3), 0);
	assert_false(exists_at(staging.links, "key"));
	assert_int_equal(links_of(folder->fd, "a"), 3);
	assert_int_equal(inode_of(folder->fd, "a"), inode_of(folder->fd, "c"));
	staging_deinit(&staging);
}

static void test_existing_file_is_replaced_only_after_an_untrusted_start(void **state)
{
	const struct folder *folder = *state;
	struct staging staging;
	ino_t before;

	begin(&staging, folder);
	make_file(folder->fd, "a", "other", 5);
	before = inode_of(folder->fd, "a");
	make(&staging);
	assert_int_equal(staging_place(&staging, NULL, folder->fd, "a"), -EEXIST);
	assert_int_equal(inode_of(folder->fd, "a"), before);
	staging.resumed = true;
	staging.trusted = true;
	assert_int_equal(staging_place(&staging, NULL, folder->fd, "a"), -EEXIST);
	staging.trusted = false;
	assert_int_equal(staging_place(&staging, NULL, folder->fd, "a"), 0);
	assert_int_not_equal(inode_of(folder->fd, "a"), before);
	assert_false(exists_at(staging.folder, STAGING_FILE));
	staging_deinit(&staging);
}

static void test_untrusted_state_is_not_used(void **state)
{
	const struct folder *folder = *state;
	struct staging staging;

	begin(&staging, folder);
	make(&staging);
	assert_int_equal(staging_place(&staging, "key", folder->fd, "a"), 0);
	staging_deinit(&staging);
	begin(&staging, folder);
	assert_true(staging.trusted);
	assert_int_equal(links_of(folder->fd, "a"), 2);
	assert_int_equal(staging_distrust(&staging), 0);
	staging_deinit(&staging);
	begin(&staging, folder);
	assert_true(staging.resumed);
	assert_false(staging.trusted);
	assert_int_equal(links_of(folder->fd, "a"), 1);
	staging_deinit(&staging);
}

static void test_state_of_another_boot_is_untrusted(void **state)
{
	static const char other[] = TASK "since 00000000-0000-0000-0000-000000000000 8:1 1\n";
	const struct folder *folder = *state;
	struct staging staging;

	begin(&staging, folder);
	assert_int_equal(unlinkat(staging.folder, "state", 0), 0);
	make_file(staging.folder, "state", other, strlen(other));
	staging_deinit(&staging);
	begin(&staging, folder);
	assert_true(staging.resumed);
	assert_false(staging.trusted);
	staging_deinit(&staging);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_folder_is_removed_at_the_end),
		TEST_IN_FOLDER(test_only_the_same_task_is_continued),
		TEST_IN_FOLDER(test_folder_with_foreign_files_is_refused),
		TEST_IN_FOLDER(test_second_process_is_refused),
		TEST_IN_FOLDER(test_symlink_in_place_of_the_folder_is_not_followed),
		TEST_IN_FOLDER(
			test_names_of_one_inode_are_linked_and_the_last_one_removes_the_staged_file),
		TEST_IN_FOLDER(test_existing_file_is_replaced_only_after_an_untrusted_start),
		TEST_IN_FOLDER(test_untrusted_state_is_not_used),
		TEST_IN_FOLDER(test_state_of_another_boot_is_untrusted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
