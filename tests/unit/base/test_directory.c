/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/descriptor.h"
#include "folder.h"
#include "unit_test.h"

#define STOPPED 7

/* Counts names, and stops at a name. */
struct count {
	const char *expected, *stop;
	size_t names, matches;
};

static int count_name(void *context, int directory, const struct dirent *entry)
{
	struct count *count = context;

	assert_true(exists_at(directory, entry->d_name));
	count->names++;
	if (count->expected && strcmp(entry->d_name, count->expected) == 0)
		count->matches++;
	return count->stop ? STOPPED : 0;
}

static void test_empty_directory_has_no_names(void **state)
{
	const struct folder *folder = *state;
	struct count count = {0};

	assert_int_equal(directory_visit(folder->fd, count_name, &count), 0);
	assert_int_equal(count.names, 0);
	assert_int_equal(directory_check_empty(folder->fd, NULL), 0);
	assert_int_equal(directory_remove_files(folder->fd), 0);
}

static void test_names_of_any_bytes_are_visited_once_each(void **state)
{
	const struct folder *folder = *state;
	struct count count = {.expected = "\xff\n *"};

	make_file(folder->fd, "\xff\n *", "", 0);
	make_file(folder->fd, ".hidden", "", 0);
	make_file(folder->fd, "...", "", 0);
	assert_int_equal(mkdirat(folder->fd, "sub", 0700), 0);
	assert_int_equal(directory_visit(folder->fd, count_name, &count), 0);
	assert_int_equal(count.names, 4);
	assert_int_equal(count.matches, 1);
}

static void test_descriptor_is_read_from_the_start_each_time(void **state)
{
	const struct folder *folder = *state;
	AUTO_CLOSE int path_only = openat(folder->fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct count count = {0};

	make_file(folder->fd, "a", "", 0);
	assert_int_equal(directory_visit(folder->fd, count_name, &count), 0);
	assert_int_equal(directory_visit(folder->fd, count_name, &count), 0);
	assert_int_equal(directory_visit(path_only, count_name, &count), 0);
	assert_int_equal(count.names, 3);
	assert_int_equal(lseek(folder->fd, 0, SEEK_CUR), 0);
}

static void test_visitor_that_returns_a_result_ends_the_visit(void **state)
{
	const struct folder *folder = *state;
	struct count count = {.stop = "any"};

	make_file(folder->fd, "a", "", 0);
	make_file(folder->fd, "b", "", 0);
	assert_int_equal(directory_visit(folder->fd, count_name, &count), STOPPED);
	assert_int_equal(count.names, 1);
}

static void test_unreadable_directory_returns_the_error(void **state)
{
	const struct folder *folder = *state;
	AUTO_CLOSE int file = -1;
	struct count count = {0};

	make_file(folder->fd, "file", "", 0);
	file = openat(folder->fd, "file", O_RDONLY | O_CLOEXEC);
	assert_int_equal(directory_visit(file, count_name, &count), -ENOTDIR);
	assert_int_equal(directory_visit(-1, count_name, &count), -EBADF);
	assert_int_equal(directory_check_empty(file, NULL), -ENOTDIR);
	assert_int_equal(count.names, 0);
}

static void test_open_directory_is_read_without_search_permission(void **state)
{
	const struct folder *folder = *state;
	uid_t user = geteuid();
	struct count count = {0};
	int sub, result;

	assert_int_equal(mkdirat(folder->fd, "sub", 0700), 0);
	sub = openat(folder->fd, "sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fchmod(sub, 0444), 0);
	if (user == 0)
		assert_int_equal(seteuid(65534), 0);
	result = directory_read(sub, count_name, &count);
	if (user == 0)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(result, 0);
	assert_int_equal(directory_read(-ENOENT, count_name, &count), -ENOENT);
	assert_int_equal(count.names, 0);
}

static void test_removed_directory_is_empty(void **state)
{
	const struct folder *folder = *state;
	AUTO_CLOSE int removed = -1;
	struct count count = {0};

	assert_int_equal(mkdirat(folder->fd, "sub", 0700), 0);
	removed = openat(folder->fd, "sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(unlinkat(folder->fd, "sub", AT_REMOVEDIR), 0);
	/* readdir(3) ends without an error where the kernel reports ENOENT */
	assert_int_equal(directory_visit(removed, count_name, &count), 0);
	assert_int_equal(count.names, 0);
}

static void test_only_the_ignored_name_counts_as_empty(void **state)
{
	const struct folder *folder = *state;

	make_file(folder->fd, "ignored", "", 0);
	assert_int_equal(directory_check_empty(folder->fd, NULL), -ENOTEMPTY);
	assert_int_equal(directory_check_empty(folder->fd, "ignore"), -ENOTEMPTY);
	assert_int_equal(directory_check_empty(folder->fd, "ignored"), 0);
	make_file(folder->fd, "other", "", 0);
	assert_int_equal(directory_check_empty(folder->fd, "ignored"), -ENOTEMPTY);
}

static void test_files_are_removed_and_a_subdirectory_is_refused(void **state)
{
	const struct folder *folder = *state;

	make_file(folder->fd, "a", "", 0);
	make_file(folder->fd, "b", "", 0);
	assert_int_equal(symlinkat("a", folder->fd, "link"), 0);
	assert_int_equal(directory_remove_files(folder->fd), 0);
	assert_int_equal(directory_check_empty(folder->fd, NULL), 0);
	assert_int_equal(mkdirat(folder->fd, "sub", 0700), 0);
	assert_int_equal(directory_remove_files(folder->fd), -EISDIR);
	assert_true(exists_at(folder->fd, "sub"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_empty_directory_has_no_names),
		TEST_IN_FOLDER(test_names_of_any_bytes_are_visited_once_each),
		TEST_IN_FOLDER(test_descriptor_is_read_from_the_start_each_time),
		TEST_IN_FOLDER(test_visitor_that_returns_a_result_ends_the_visit),
		TEST_IN_FOLDER(test_unreadable_directory_returns_the_error),
		TEST_IN_FOLDER(test_open_directory_is_read_without_search_permission),
		TEST_IN_FOLDER(test_removed_directory_is_empty),
		TEST_IN_FOLDER(test_only_the_ignored_name_counts_as_empty),
		TEST_IN_FOLDER(test_files_are_removed_and_a_subdirectory_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
