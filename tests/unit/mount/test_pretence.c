/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mount/pretence.h"
#include "view/node.h"

#define FOLDER 77
#define ABOVE 11

static void test_nothing_is_pretended_before_and_after(void **state)
{
	const struct pretence pretence = {.folder = FOLDER, .name = "name"};
	struct fuse_entry_param entry;
	struct pretended pretended;
	struct stat attributes;

	(void)state;
	assert_int_equal(pretended_init(&pretended), 0);
	for (int i = 0; i < 2; i++) {
		assert_false(pretend_lookup(&pretended, FOLDER, "name", &entry));
		assert_false(pretend_lookup(&pretended, 0, "", &entry));
		assert_false(pretend_change(&pretended, FOLDER, "name", true, &entry));
		assert_false(pretend_getattr(&pretended, FOLDER, &attributes));
		pretence_begin(&pretended, pretence);
		pretence_end(&pretended);
	}
	pretended_deinit(&pretended);
}

static void test_name_that_came_was_not_there_and_can_be_made_only(void **state)
{
	const struct pretence pretence = {.folder = FOLDER, .name = "name", .directory = true};
	struct fuse_entry_param entry;
	struct pretended pretended;

	(void)state;
	assert_int_equal(pretended_init(&pretended), 0);
	pretence_begin(&pretended, pretence);
	assert_true(pretend_lookup(&pretended, FOLDER, "name", &entry));
	assert_int_equal(entry.ino, 0);
	assert_false(pretend_lookup(&pretended, FOLDER, "other", &entry));
	assert_false(pretend_lookup(&pretended, FOLDER + 1, "name", &entry));
	assert_false(pretend_change(&pretended, FOLDER, "name", false, NULL));
	assert_false(pretend_change(&pretended, FOLDER, "other", true, &entry));
	assert_true(pretend_change(&pretended, FOLDER, "name", true, &entry));
	assert_true(S_ISDIR(entry.attr.st_mode));
	assert_int_equal(node_kind(entry.ino), NODE_STAND_IN);
	/* exact, as the kernel is told to keep none of it */
	assert_true(entry.entry_timeout <= 0 && entry.attr_timeout <= 0);
	pretended_deinit(&pretended);
}

static void test_name_that_went_was_there_as_another_node_each_time(void **state)
{
	const struct pretence pretence = {.folder = FOLDER, .name = "name", .there = true};
	struct fuse_entry_param entry;
	struct pretended pretended;
	uint64_t before = 0;

	(void)state;
	assert_int_equal(pretended_init(&pretended), 0);
	for (int i = 0; i < 3; i++) {
		pretence_begin(&pretended, pretence);
		assert_true(pretend_lookup(&pretended, FOLDER, "name", &entry));
		assert_int_equal(node_kind(entry.ino), NODE_STAND_IN);
		assert_true(S_ISREG(entry.attr.st_mode));
		assert_int_not_equal(entry.ino, before);
		before = entry.ino;
		assert_true(pretend_lookup(&pretended, FOLDER, "name", &entry));
		assert_int_equal(entry.ino, before);
		assert_false(pretend_change(&pretended, FOLDER, "name", true, &entry));
		assert_true(pretend_change(&pretended, FOLDER, "name", false, NULL));
	}
	pretended_deinit(&pretended);
}

static void test_folder_that_is_gone_is_where_it_was(void **state)
{
	const struct pretence pretence = {
		.folder = FOLDER,
		.name = "name",
		.there = true,
		.above = ABOVE,
		.folder_name = "folder",
	};
	struct fuse_entry_param entry;
	struct pretended pretended;
	struct stat attributes;

	(void)state;
	assert_int_equal(pretended_init(&pretended), 0);
	pretence_begin(&pretended, pretence);
	assert_true(pretend_lookup(&pretended, ABOVE, "folder", &entry));
	assert_int_equal(entry.ino, FOLDER);
	assert_true(S_ISDIR(entry.attr.st_mode));
	assert_true(pretend_getattr(&pretended, FOLDER, &attributes));
	assert_true(S_ISDIR(attributes.st_mode));
	assert_false(pretend_getattr(&pretended, ABOVE, &attributes));
	assert_false(pretend_change(&pretended, ABOVE, "folder", false, NULL));
	pretended_deinit(&pretended);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_pretended_before_and_after),
		cmocka_unit_test(test_name_that_came_was_not_there_and_can_be_made_only),
		cmocka_unit_test(test_name_that_went_was_there_as_another_node_each_time),
		cmocka_unit_test(test_folder_that_is_gone_is_where_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
