/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "unit_test.h"
#include "view/fuse/watcher_event.h"
#include "view/tree/node.h"

#define FOLDER 77
#define PARENT 11

static const struct listed_name file = {.text = "name"};
static const struct listed_name directory = {.text = "name", .directory = true};

static void test_nothing_is_simulated_before_begin_and_after_end(void **state)
{
	const struct watcher_reply reply = {.folder = FOLDER, .name = &file};
	struct fuse_entry_param entry;
	struct watcher_replies replies;
	struct stat attributes;

	(void)state;
	watcher_replies_init(&replies);
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

static void test_created_name_is_missing_and_can_only_be_created(void **state)
{
	const struct watcher_reply reply = {.folder = FOLDER, .name = &directory};
	struct fuse_entry_param entry;
	struct watcher_replies replies;

	(void)state;
	watcher_replies_init(&replies);
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
	/* exactly 0, so that the kernel caches nothing */
	assert_true(entry.entry_timeout <= 0 && entry.attr_timeout <= 0);
	watcher_replies_deinit(&replies);
}

static void test_deleted_name_exists_as_a_new_node_each_time(void **state)
{
	const struct watcher_reply reply = {.folder = FOLDER, .name = &file, .exists = true};
	struct fuse_entry_param entry;
	struct watcher_replies replies;
	uint64_t before = 0;

	(void)state;
	watcher_replies_init(&replies);
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

static void test_moved_name_has_its_node_and_its_new_name_is_missing(void **state)
{
	const struct listed_name moving = {.text = "name",
					   .node = 5,
					   .mode = S_IFDIR | S_IRWXU,
					   .directory = true};
	struct fuse_entry_param entry;
	struct watcher_replies replies;

	(void)state;
	watcher_replies_init(&replies);
	watcher_reply_begin(&replies, (struct watcher_reply){
					      .folder = FOLDER,
					      .name = &moving,
					      .exists = true,
					      .to_folder = PARENT,
					      .to_name = "new",
				      });
	assert_true(watcher_reply_is_changing(&replies, FOLDER, "name"));
	assert_true(watcher_reply_is_changing(&replies, PARENT, "new"));
	assert_false(watcher_reply_is_changing(&replies, PARENT, "name"));
	assert_true(watcher_reply_lookup(&replies, FOLDER, "name", &entry));
	assert_true(entry.ino == 5 && entry.entry_timeout <= 0);
	assert_true(watcher_reply_lookup(&replies, PARENT, "new", &entry));
	assert_true(entry.ino == 0);
	assert_false(watcher_reply_lookup(&replies, FOLDER, "new", &entry));
	assert_false(watcher_reply_change(&replies, FOLDER, "name", false, NULL));
	assert_false(watcher_reply_move(&replies, FOLDER, "name", FOLDER, "new"));
	assert_false(watcher_reply_move(&replies, PARENT, "new", FOLDER, "name"));
	assert_true(watcher_reply_move(&replies, FOLDER, "name", PARENT, "new"));
	watcher_reply_end(&replies);
	assert_false(watcher_reply_is_changing(&replies, PARENT, "new"));
	assert_false(watcher_reply_move(&replies, FOLDER, "name", PARENT, "new"));
	watcher_replies_deinit(&replies);
}

static void test_removed_folder_exists_in_its_last_parent(void **state)
{
	const struct watcher_reply reply = {
		.folder = FOLDER,
		.name = &file,
		.exists = true,
		.parent = PARENT,
		.gone_name = "folder",
	};
	struct fuse_entry_param entry;
	struct watcher_replies replies;
	struct stat attributes;

	(void)state;
	watcher_replies_init(&replies);
	watcher_reply_begin(&replies, reply);
	assert_true(watcher_reply_lookup(&replies, PARENT, "folder", &entry));
	assert_int_equal(entry.ino, FOLDER);
	assert_true(S_ISDIR(entry.attr.st_mode));
	assert_int_equal(entry.attr.st_nlink, 0); /* ends the watches */
	assert_true(watcher_reply_getattr(&replies, FOLDER, &attributes));
	assert_true(S_ISDIR(attributes.st_mode));
	assert_false(watcher_reply_getattr(&replies, PARENT, &attributes));
	assert_false(watcher_reply_change(&replies, PARENT, "folder", false, NULL));
	watcher_replies_deinit(&replies);
}

static void test_removed_file_that_is_gone_has_its_own_inode_and_size(void **state)
{
	const struct listed_name gone = {
		.text = "name",
		.node = 5,
		.size = 6,
		.mode = S_IFLNK | 0600,
	};
	const struct watcher_reply reply = {.folder = FOLDER, .name = &gone, .exists = true};
	struct fuse_entry_param entry;
	struct watcher_replies replies;

	(void)state;
	watcher_replies_init(&replies);
	watcher_reply_begin(&replies, reply);
	assert_true(watcher_reply_lookup(&replies, FOLDER, "name", &entry));
	assert_int_equal(entry.ino, 5);
	assert_int_equal(entry.attr.st_size, 6);
	assert_int_equal(entry.attr.st_mode, S_IFLNK | 0600);
	assert_int_equal(entry.attr.st_nlink, 1);
	watcher_replies_deinit(&replies);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_simulated_before_begin_and_after_end),
		cmocka_unit_test(test_created_name_is_missing_and_can_only_be_created),
		cmocka_unit_test(test_deleted_name_exists_as_a_new_node_each_time),
		cmocka_unit_test(test_moved_name_has_its_node_and_its_new_name_is_missing),
		cmocka_unit_test(test_removed_folder_exists_in_its_last_parent),
		cmocka_unit_test(test_removed_file_that_is_gone_has_its_own_inode_and_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
