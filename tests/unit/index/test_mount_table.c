/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "index/mount_table.h"
#include "unit_test.h"

/* Adds a line as getline(3) returns it. */
static void add(struct mount_table *table, const char *text)
{
	struct mountinfo mount CLEANUP_MOUNTINFO = {.line = strdup(text)};

	assert_non_null(mount.line);
	assert_true(mountinfo_split(&mount, mount.line));
	assert_int_equal(mount_table_add(table, &mount), 0);
}

static void test_point_and_type_are_found_among_optional_fields(void **state)
{
	struct mount_table table CLEANUP_TABLE = {0};

	(void)state;
	add(&table, "36 35 98:0 /r /mnt rw shared:7 master:1 - ext4 /dev/sda rw\n");
	add(&table, "40 35 0:33 / /view ro,nosuid - fuse.twinfs /usr ro\n");
	assert_int_equal(table.count, 2);
	assert_string_equal(table.entries[0].point, "/mnt");
	assert_string_equal(table.entries[0].type, "ext4");
	assert_false(mount_entry_is_view(&table.entries[0]));
	assert_string_equal(table.entries[1].point, "/view");
	assert_true(mount_entry_is_view(&table.entries[1]));
}

static void test_option_is_found_only_as_a_whole(void **state)
{
	struct mount_table table CLEANUP_TABLE = {0};
	const struct mountinfo *entry;

	(void)state;
	add(&table, "1 2 0:3 / /a noatime - btrfs x rw,nodatasum,space_cache=v2\n");
	entry = &table.entries[0];
	assert_true(mount_entry_has_option(entry, "rw"));
	assert_true(mount_entry_has_option(entry, "nodatasum"));
	assert_true(mount_entry_has_option(entry, "space_cache=v2"));
	assert_false(mount_entry_has_option(entry, "nodata"));
	assert_false(mount_entry_has_option(entry, "datasum"));
	assert_false(mount_entry_has_option(entry, "noatime"));
	assert_false(mount_entry_has_option(entry, ""));
}

static void test_line_may_end_after_the_type(void **state)
{
	struct mount_table table CLEANUP_TABLE = {0};

	(void)state;
	add(&table, "1 2 0:3 / /a rw - btrfs");
	add(&table, "1 2 0:3 / /a rw - btrfs rw");
	assert_false(mount_entry_has_option(&table.entries[0], "rw"));
	assert_false(mount_entry_has_option(&table.entries[1], "rw"));
}

static void test_escaped_bytes_are_decoded(void **state)
{
	struct mount_table table CLEANUP_TABLE = {0};

	(void)state;
	add(&table, "1 2 0:3 / /a\\040b\\011c\\012d\\134e\\377 rw - fuse.twinfs x "
		    "rw\n");
	assert_string_equal(table.entries[0].point, "/a b\tc\nd\\e\xff");
}

static void test_invalid_escape_is_left_unchanged(void **state)
{
	struct mount_table table CLEANUP_TABLE = {0};

	(void)state;
	add(&table, "1 2 0:3 / /a\\04\\9\\ rw - ext4 x rw");
	assert_string_equal(table.entries[0].point, "/a\\04\\9\\");
}

static void test_truncated_lines_are_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"\n",
		"36 35 98:0 /",
		"36 35 98:0 / /mnt rw shared:7",
		"36 35 98:0 / /mnt rw -",
		"36 35 98:0 / /mnt rw - ",
		"36 35 98:0 / mnt rw - ext4 x rw",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct mountinfo mount CLEANUP_MOUNTINFO = {.line = strdup(wrong[i])};

		assert_non_null(mount.line);
		assert_false(mountinfo_split(&mount, mount.line));
	}
}

static void test_the_deepest_and_last_mount_covers_a_path(void **state)
{
	struct mount_table table CLEANUP_TABLE = {0};

	(void)state;
	assert_null(mount_table_covering(&table, "/"));
	add(&table, "1 0 0:1 / / rw - ext4 a rw");
	add(&table, "2 1 0:2 / /m rw - fuse.twinfs b rw");
	add(&table, "3 2 0:3 / /m/x rw - xfs c rw");
	add(&table, "4 1 0:4 / /m rw - tmpfs d rw");
	assert_string_equal(mount_table_covering(&table, "/")->type, "ext4");
	assert_string_equal(mount_table_covering(&table, "/mm")->type, "ext4");
	assert_string_equal(mount_table_covering(&table, "/m")->type, "tmpfs");
	assert_string_equal(mount_table_covering(&table, "/m/y")->type, "tmpfs");
	assert_string_equal(mount_table_covering(&table, "/m/x")->type, "xfs");
	assert_string_equal(mount_table_covering(&table, "/m/x/y/z")->type, "xfs");
	assert_string_equal(mount_table_covering(&table, "/m/xx")->type, "tmpfs");
}

static void assert_located(const struct mount_table *table, const char *path, const char *expected)
{
	struct bytes inside CLEANUP_BYTES = {0};

	assert_int_equal(mount_entry_locate(mount_table_covering(table, path), path, &inside), 0);
	assert_string_equal(bytes_text(&inside), expected);
}

static void test_path_is_located_from_the_top_of_its_file_system(void **state)
{
	struct mount_table table CLEANUP_TABLE = {0};

	(void)state;
	add(&table, "1 0 8:1 / / rw - ext4 /dev/sda1 rw");
	add(&table, "2 1 8:1 /home/a\\040b /mnt rw - ext4 /dev/sda1 rw");
	add(&table, "3 1 8:2 / /disk rw - ext4 /dev/sda2 rw");
	assert_located(&table, "/", "/");
	assert_located(&table, "/home/a b", "/home/a b");
	assert_located(&table, "/mnt", "/home/a b");
	assert_located(&table, "/mnt/c", "/home/a b/c");
	assert_located(&table, "/disk", "/");
	assert_located(&table, "/disk/c", "/c");
	assert_string_equal(table.entries[1].device, "8:1");
}

static void test_view_is_found_by_its_device_at_any_mount_point(void **state)
{
	struct mount_table table CLEANUP_TABLE = {0};
	const struct mountinfo *entry;

	(void)state;
	add(&table, "36 35 0:33 / /mnt rw - tmpfs x rw");
	add(&table, "40 35 0:34 / /view ro - fuse.twinfs /usr ro");
	add(&table, "41 35 0:35 /uniques /bound ro - fuse.twinfs /usr ro");
	assert_null(mount_table_view_of(&table, "0:33"));
	assert_null(mount_table_view_of(&table, "0:3"));
	entry = mount_table_view_of(&table, "0:35");
	assert_non_null(entry);
	assert_string_equal(entry->point, "/bound");
}

static void test_table_of_this_process_has_a_root(void **state)
{
	struct mount_table table CLEANUP_TABLE = {0};
	const struct mountinfo *entry;

	(void)state;
	assert_int_equal(mount_table_read(&table), 0);
	entry = mount_table_covering(&table, "/proc/self/mountinfo");
	assert_non_null(entry);
	assert_string_equal(entry->type, "proc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_point_and_type_are_found_among_optional_fields),
		cmocka_unit_test(test_option_is_found_only_as_a_whole),
		cmocka_unit_test(test_line_may_end_after_the_type),
		cmocka_unit_test(test_escaped_bytes_are_decoded),
		cmocka_unit_test(test_invalid_escape_is_left_unchanged),
		cmocka_unit_test(test_truncated_lines_are_refused),
		cmocka_unit_test(test_the_deepest_and_last_mount_covers_a_path),
		cmocka_unit_test(test_path_is_located_from_the_top_of_its_file_system),
		cmocka_unit_test(test_view_is_found_by_its_device_at_any_mount_point),
		cmocka_unit_test(test_table_of_this_process_has_a_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
