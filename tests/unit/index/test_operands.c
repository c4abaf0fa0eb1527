/* SPDX-License-Identifier: MIT */
#include <limits.h>

#include "base/bytes.h"
#include "folder.h"
#include "index/operands.h"
#include "unit_test.h"

/* Makes folders "a", "a!", "ab", "a/b" and "a/b/c", each with the files "1" and "2". */
static const char *const folders[] = {"a", "a!", "ab", "a/b", "a/b/c"};

static void fill(const struct folder *folder)
{
	char name[16];

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		assert_int_equal(mkdirat(folder->fd, folders[i], 0755), 0);
		for (int file = 1; file <= 2; file++) {
			(void)snprintf(name, sizeof(name), "%s/%d", folders[i], file);
			make_file(folder->fd, name, "x", 1);
		}
	}
}

#define NAMES_MAX 8

/* Finds the operands with these paths in the folder, as on a command line. */
static void find(const struct folder *folder, const char *const *names, struct operands *operands)
{
	char paths[NAMES_MAX][PATH_MAX], *given[NAMES_MAX];
	size_t count = 0;

	for (; names[count]; count++) {
		(void)snprintf(paths[count], PATH_MAX, "%s/%s", folder->path, names[count]);
		given[count] = paths[count];
	}
	assert_int_equal(operands_find(operands, given, count), 0);
}

#define FIND(folder, operands, ...) \
	find(folder, (const char *const[]){__VA_ARGS__, NULL}, &(operands))

/* Checks the names of a range, each followed by "/" unless it is an operand that is a file. */
static void assert_names(const struct operands *operands, struct operand_range range,
			 const char *expected)
{
	CLEANUP_BYTES struct bytes found = {0};
	struct operand_name name;

	while (operands_next_name(operands, &range, &name))
		assert_int_equal(bytes_format(&found, "%.*s%s ", (int)name.length, name.bytes,
					      name.is_file ? "" : "/"),
				 0);
	assert_string_equal(bytes_text(&found), expected);
}

static struct operand_range below(const struct operands *operands, struct operand_range range,
				  const char *name)
{
	return operands_below(operands, range, name, strlen(name));
}

static void test_names_in_a_folder_lead_to_the_operands(void **state)
{
	const struct folder *folder = *state;
	CLEANUP(operands_free) struct operands operands = {0};
	struct operand_range all, a;

	fill(folder);
	FIND(folder, operands, "ab/2", "a/1", "a/b/c/2", "a!/1", "a/b/c/1", "a/b/1");
	assert_string_equal(operands.folder, folder->path);
	all = operands_all(&operands);
	assert_names(&operands, all, "a/ a!/ ab/ ");
	assert_false(operands_end_at(&operands, all));
	a = below(&operands, all, "a");
	assert_names(&operands, a, "1 b/ ");
	assert_names(&operands, below(&operands, a, "b"), "1 c/ ");
	assert_names(&operands, below(&operands, below(&operands, a, "b"), "c"), "1 2 ");
	assert_names(&operands, below(&operands, all, "a!"), "1 ");
	assert_names(&operands, below(&operands, all, "ab"), "2 ");
	assert_names(&operands, below(&operands, all, "abc"), "");
	assert_names(&operands, below(&operands, all, "b"), "");
}

static void test_folder_operand_ends_the_way(void **state)
{
	const struct folder *folder = *state;
	CLEANUP(operands_free) struct operands operands = {0};
	struct operand_range a;

	fill(folder);
	FIND(folder, operands, "a/b/1", "a/b", "ab/1");
	a = below(&operands, operands_all(&operands), "a");
	assert_false(operands_end_at(&operands, a));
	assert_names(&operands, a, "b/ ");
	assert_true(operands_end_at(&operands, below(&operands, a, "b")));
	assert_names(&operands, below(&operands, a, "b"), "1 ");
	assert_false(operands_end_at(&operands, below(&operands, a, "ba")));
}

static void test_folder_is_the_deepest_that_contains_all(void **state)
{
	const struct folder *folder = *state;
	CLEANUP(operands_free) struct operands one = {0}, two = {0}, three = {0}, none = {0};
	char path[PATH_MAX];

	fill(folder);
	FIND(folder, one, "a/b/c/1", "a/b/c/1");
	(void)snprintf(path, sizeof(path), "%s/a/b/c", folder->path);
	assert_string_equal(one.folder, path);
	assert_int_equal(one.count, 1);
	FIND(folder, two, "a/b", "a/b/1");
	(void)snprintf(path, sizeof(path), "%s/a/b", folder->path);
	assert_string_equal(two.folder, path);
	assert_true(operands_end_at(&two, operands_all(&two)));
	FIND(folder, three, "a/1", "ab/1");
	assert_string_equal(three.folder, folder->path);
	assert_int_equal(operands_find(&none, NULL, 0), 0);
	assert_string_equal(none.folder, "/");
	assert_names(&none, operands_all(&none), "");
	assert_int_equal(operands_rank(&none, "a", true), UINT32_MAX);
}

static void test_rank_is_the_lowest_of_the_operands_with_the_path(void **state)
{
	const struct folder *folder = *state;
	CLEANUP(operands_free) struct operands operands = {0};

	fill(folder);
	FIND(folder, operands, "a/1", "a/2", "a/b", "ab/1", "a/b/c/2", "a", "a/2");
	assert_int_equal(operands.count, 6);
	assert_int_equal(operands_rank(&operands, "a/1", true), 0);
	assert_int_equal(operands_rank(&operands, "a/2", true), 1);
	assert_int_equal(operands_rank(&operands, "a/b/1", true), 2);
	assert_int_equal(operands_rank(&operands, "a/b/c/2", true), 2);
	assert_int_equal(operands_rank(&operands, "a/other", true), 5);
	assert_int_equal(operands_rank(&operands, "a", true), 5);
	assert_int_equal(operands_rank(&operands, "ab/1", true), 3);
	assert_int_equal(operands_rank(&operands, "ab/2", true), UINT32_MAX);
	assert_int_equal(operands_rank(&operands, "a/2", false), 0);
	assert_int_equal(operands_rank(&operands, "a/b/1", false), 1);
	assert_int_equal(operands_rank(&operands, "ab/1", false), 2);
	assert_int_equal(operands.units, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_names_in_a_folder_lead_to_the_operands),
		TEST_IN_FOLDER(test_folder_operand_ends_the_way),
		TEST_IN_FOLDER(test_folder_is_the_deepest_that_contains_all),
		TEST_IN_FOLDER(test_rank_is_the_lowest_of_the_operands_with_the_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
