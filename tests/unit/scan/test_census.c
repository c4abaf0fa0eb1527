/* SPDX-License-Identifier: MIT */

#include "folder.h"
#include "scan/census.h"
#include "unit_test.h"

#define WIDE 300

static const struct census_limits far = {.names = 1000000, .milliseconds = 60000};

static struct census census_of(int directory, const struct census_limits *limits)
{
	struct census census;

	assert_int_equal(census_take(directory, limits, &census), 0);
	census_deinit(&census);
	return census;
}

/* Makes WIDE folders, the first with two files and a symlink. */
static void build(int directory)
{
	char name[16];

	for (int i = 0; i < WIDE; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(mkdirat(directory, name, 0700), 0);
	}
	make_file(directory, "0/a", "a", 1);
	make_file(directory, "0/b", "b", 1);
	assert_int_equal(symlinkat("..", directory, "0/up"), 0);
}

static void test_everything_is_counted_once(void **state)
{
	const struct folder *folder = *state;
	struct census census;

	build(folder->fd);
	census = census_of(folder->fd, &far);
	assert_true(census.complete);
	assert_int_equal(census.directories, WIDE + 1);
	assert_int_equal(census.files, 3);
	assert_int_equal(census.sampled, 2);
	assert_int_equal(census.foreign, 0);
	assert_int_equal(census.immutable, 0);
	assert_int_equal(census.unreadable, 0);
}

static void test_limit_of_names_includes_folders(void **state)
{
	const struct census_limits few = {.names = 100, .milliseconds = 60000};
	const struct folder *folder = *state;
	struct census census;

	build(folder->fd);
	census = census_of(folder->fd, &few);
	assert_false(census.complete);
	assert_true(census.directories + census.files <= few.names);
}

static void test_limit_of_time_ends_a_census_of_folders(void **state)
{
	const struct census_limits none = {.names = 1000000, .milliseconds = 0};
	const struct folder *folder = *state;
	struct census census;

	assert_int_equal(mkdirat(folder->fd, "a", 0700), 0);
	assert_int_equal(mkdirat(folder->fd, "a/b", 0700), 0);
	census = census_of(folder->fd, &none);
	assert_false(census.complete);
	assert_int_equal(census.directories, 1);
}

static void test_folder_deeper_than_any_path_may_be_is_counted(void **state)
{
	const struct folder *folder = *state;
	char name[201];
	int fd = dup(folder->fd);

	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 30; i++) {
		int next;

		assert_int_equal(mkdirat(fd, name, 0700), 0);
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(fd);
		fd = next;
	}
	make_file(fd, "deep", "", 0);
	(void)close(fd);
	assert_int_equal(census_of(folder->fd, &far).directories, 31);
	assert_int_equal(census_of(folder->fd, &far).files, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_everything_is_counted_once),
		TEST_IN_FOLDER(test_limit_of_names_includes_folders),
		TEST_IN_FOLDER(test_limit_of_time_ends_a_census_of_folders),
		TEST_IN_FOLDER(test_folder_deeper_than_any_path_may_be_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
