/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "mount/watcher_reply.h"
#include "unit_test.h"
#include "view/node.h"

#define FOLDER 77
#define ABOVE 11

static void test_nothing_is_pretended_before_and_after(void **state)
{
	const struct watcher_reply reply = {.folder = FOLDER, .name = "name"};
	struct fuse_entry_param entry;
	struct watcher_replies replies;
	struct stat attributes;

	(void)state;
	assert_int_equal(watcher_replies_init(&replies), 0);
	for (int i = 0; i < 2; i++) {
		assert_false(watcher_reply_lookup(&replies, FOLDER, "name", &entry));
		assert_false(watcher_reply_lookup(&replies, 0, "", &entry));
		assert_false(watcher_reply_change(&replies, FOLDER, "name", true, &entry));
		assert_false(watcher_reply_getattr(&replies, FOLDER, &attributes));
		watcher_reply_begin(&replies, reply);
		watcher_reply_end(&replies);
	}
	watcher_replies_deinit(&replies);
}

static void test_name_that_came_was_not_there_and_can_be_made_only(void **state)
{
	const struct watcher_reply reply = {.folder = FOLDER, .name = "name", .directory = true};
	struct fuse_entry_param entry;
	struct watcher_replies replies;

	(void)state;
	assert_int_equal(watcher_replies_init(&replies), 0);
	watcher_reply_begin(&replies, reply);
	assert_true(watcher_reply_lookup(&replies, FOLDER, "name", &entry));
	assert_int_equal(entry.ino, 0);
	assert_false(watcher_reply_lookup(&replies, FOLDER, "other", &entry));
	assert_false(watcher_reply_lookup(&replies, FOLDER + 1, "name", &entry));
	assert_false(watcher_reply_change(&replies, FOLDER, "name", false, NULL));
	assert_false(watcher_reply_change(&replies, FOLDER, "other", true, &entry));
	assert_true(watcher_reply_change(&replies, FOLDER, "name", true, &entry));
	assert_true(S_ISDIR(entry.attr.st_mode));
	assert_int_equal(node_kind(entry.ino), NODE_PLACEHOLDER);
	/* exact, as the kernel is told to keep none of it */
	assert_true(entry.entry_timeout <= 0 && entry.attr_timeout <= 0);
	watcher_replies_deinit(&replies);
}

static void test_name_that_went_was_there_as_another_node_each_time(void **state)
{
	const struct watcher_reply reply = {.folder = FOLDER, .name = "name", .exists = true};
	struct fuse_entry_param entry;
	struct watcher_replies replies;
	uint64_t before = 0;

	(void)state;
	assert_int_equal(watcher_replies_init(&replies), 0);
	for (int i = 0; i < 3; i++) {
		watcher_reply_begin(&replies, reply);
		assert_true(watcher_reply_lookup(&replies, FOLDER, "name", &entry));
		assert_int_equal(node_kind(entry.ino), NODE_PLACEHOLDER);
		assert_true(S_ISREG(entry.attr.st_mode));
		assert_int_not_equal(entry.ino, before);
		before = entry.ino;
		assert_true(watcher_reply_lookup(&replies, FOLDER, "name", &entry));
		assert_int_equal(entry.ino, before);
		assert_false(watcher_reply_change(&replies, FOLDER, "name", true, &entry));
		assert_true(watcher_reply_change(&replies, FOLDER, "name", false, NULL));
	}
	watcher_replies_deinit(&replies);
}

static void test_folder_that_is_gone_is_where_it_was(void **state)
{
	const struct watcher_reply reply = {
		.folder = FOLDER,
		.name = "name",
		.exists = true,
		.parent = ABOVE,
		.folder_name = "folder",
	};
	struct fuse_entry_param entry;
	struct watcher_replies replies;
	struct stat attributes;

	(void)state;
	assert_int_equal(watcher_replies_init(&replies), 0);
	watcher_reply_begin(&replies, reply);
	assert_true(watcher_reply_lookup(&replies, ABOVE, "folder", &entry));
	assert_int_equal(entry.ino, FOLDER);
	assert_true(S_ISDIR(entry.attr.st_mode));
	assert_true(watcher_reply_getattr(&replies, FOLDER, &attributes));
	assert_true(S_ISDIR(attributes.st_mode));
	assert_false(watcher_reply_getattr(&replies, ABOVE, &attributes));
	assert_false(watcher_reply_change(&replies, ABOVE, "folder", false, NULL));
	watcher_replies_deinit(&replies);
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
