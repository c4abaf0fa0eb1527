/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "page/tallies.h"
#include "unit_test.h"

/* Folder n is in folder n / 10. Folders 1 to 9 are roots. */
static int parent_by_digits(void *context, uint64_t dir, uint64_t *parent)
{
	(void)context;
	*parent = dir / 10;
	return 0;
}

/* A folder that contains itself, as in a damaged index. */
static int parent_of_itself(void *context, uint64_t dir, uint64_t *parent)
{
	(void)context;
	*parent = dir;
	return 0;
}

static int no_parent(void *context, uint64_t dir, uint64_t *parent)
{
	(void)context;
	(void)dir;
	(void)parent;
	return -EIO;
}

static const struct folders_map by_digits = {parent_by_digits, NULL};

static void add(struct folders *folders, uint64_t dir, uint64_t bytes)
{
	assert_int_equal(folders_add(folders, &by_digits, dir, bytes), 0);
}

/* Formats each folder as NUMBER:OWN/WHOLE: its own bytes, and its bytes with all subfolders. */
static const char *describe(const struct folders *folders)
{
	static char text[1024];
	AUTO_FREE struct folder_node *list = NULL;
	size_t count;
	size_t length = 0;

	assert_int_equal(folders_tree(folders, &by_digits, &list, &count), 0);
	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		assert_true(i == 0 || list[i].parent < i);
		assert_true(i == 0 || list[i].depth == list[list[i].parent].depth + 1);
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%d:%d/%d ",
					   (int)list[i].dir, (int)list[i].own.bytes,
					   (int)list[i].whole.bytes);
		assert_true(length < sizeof(text));
	}
	return text;
}

static void test_folder_counts_its_files_and_those_below(void **state)
{
	CLEANUP_FOLDERS struct folders folders = {0};

	(void)state;
	add(&folders, 11, 5);
	add(&folders, 1, 1);
	add(&folders, 112, 7);
	add(&folders, 11, 5);
	assert_int_equal(folders_finish(&folders, &by_digits, 0), 0);
	assert_string_equal(describe(&folders), "0:0/18 1:1/18 11:10/17 112:7/7 ");
}

static void test_sums_of_folders_saturate(void **state)
{
	CLEANUP_FOLDERS struct folders folders = {0};
	AUTO_FREE struct folder_node *list = NULL;
	size_t count;

	(void)state;
	for (uint64_t dir = 11; dir < 14; dir++) {
		add(&folders, dir, INT64_MAX);
		add(&folders, dir, dir == 11 ? UINT64_MAX : 0);
	}
	assert_int_equal(folders_finish(&folders, &by_digits, 0), 0);
	assert_int_equal(folders_tree(&folders, &by_digits, &list, &count), 0);
	assert_int_equal(count, 5);
	assert_true(list[0].whole.bytes == UINT64_MAX && list[1].whole.bytes == UINT64_MAX);
	assert_true(list[2].dir == 11 && list[2].own.bytes == UINT64_MAX);
}

static void test_larger_folders_are_first(void **state)
{
	CLEANUP_FOLDERS struct folders folders = {0};

	(void)state;
	add(&folders, 11, 1);
	add(&folders, 12, 2);
	add(&folders, 2, 9);
	add(&folders, 121, 1);
	assert_int_equal(folders_finish(&folders, &by_digits, 0), 0);
	assert_string_equal(describe(&folders), "0:0/13 2:9/9 1:0/4 12:2/3 121:1/1 11:1/1 ");
}

static void test_small_folders_are_counted_in_their_parent(void **state)
{
	CLEANUP_FOLDERS struct folders folders = {0};
	AUTO_FREE struct folder_node *list = NULL;
	size_t count;

	(void)state;
	add(&folders, 11, 100);
	add(&folders, 111, 9);
	add(&folders, 112, 3);
	add(&folders, 1211, 9);
	assert_int_equal(folders_finish(&folders, &by_digits, 10), 0);
	assert_string_equal(describe(&folders), "0:0/121 1:9/121 11:112/112 ");
	assert_int_equal(folders_tree(&folders, &by_digits, &list, &count), 0);
	assert_int_equal(list[2].own.folded_bytes, 12);
	assert_int_equal(list[2].own.files, 3);
	assert_int_equal(list[1].own.folded_bytes, 9);
	assert_int_equal(list[0].whole.files, 4);
}

static void test_small_folders_that_are_large_together_are_shown_as_their_common_parent(
	void **state)
{
	CLEANUP_FOLDERS struct folders folders = {0};

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		add(&folders, 1230 + i, 2);
	assert_int_equal(folders_finish(&folders, &by_digits, 15), 0);
	assert_string_equal(describe(&folders), "0:0/20 1:0/20 12:0/20 123:20/20 ");
}

/* Folder n is in folder n - 1. */
static int parent_in_a_chain(void *context, uint64_t dir, uint64_t *parent)
{
	(void)context;
	*parent = dir - 1;
	return 0;
}

static void test_folders_below_the_depth_limit_are_counted_at_the_limit(void **state)
{
	const struct folders_map chain = {parent_in_a_chain, NULL};
	CLEANUP_FOLDERS struct folders folders = {0};
	AUTO_FREE struct folder_node *list = NULL;
	size_t count;

	(void)state;
	assert_int_equal(folders_add(&folders, &chain, 50, 1), 0);
	assert_int_equal(folders_add(&folders, &chain, 40, 2), 0);
	assert_int_equal(folders_finish(&folders, &chain, 0), 0);
	assert_int_equal(folders_tree(&folders, &chain, &list, &count), 0);
	assert_int_equal(count, FOLDERS_DEPTH_MAX + 1);
	assert_int_equal(list[count - 1].dir, FOLDERS_DEPTH_MAX);
	assert_int_equal(list[count - 1].own.bytes, 3);
	assert_int_equal(list[0].whole.bytes, 3);
}

static void test_folders_below_the_depth_limit_count_as_folded(void **state)
{
	const struct folders_map chain = {parent_in_a_chain, NULL};
	CLEANUP_FOLDERS struct folders folders = {0};
	AUTO_FREE struct folder_node *list = NULL;
	size_t count;

	(void)state;
	assert_int_equal(folders_add(&folders, &chain, FOLDERS_DEPTH_MAX + 1, 2), 0);
	assert_int_equal(folders_add(&folders, &chain, FOLDERS_DEPTH_MAX, 5), 0);
	assert_int_equal(folders_finish(&folders, &chain, 0), 0);
	assert_int_equal(folders_tree(&folders, &chain, &list, &count), 0);
	assert_int_equal(list[count - 1].own.bytes, 7);
	assert_int_equal(list[count - 1].own.folded_bytes, 2);
}

static void test_bytes_of_folders_beyond_the_limit_are_counted(void **state)
{
	CLEANUP_FOLDERS struct folders folders = {0};
	AUTO_FREE struct folder_node *list = NULL;
	uint64_t total = 0;
	uint64_t large = 0;
	size_t count;

	(void)state;
	for (uint64_t i = 0; i < 900000; i++) {
		uint64_t bytes = i % 1000 == 7 ? 1000000 : i % 100;

		add(&folders, 1000000 + i, bytes);
		total += bytes;
	}
	assert_true(folders.capacity <= FOLDERS_MAX);
	assert_int_equal(folders_finish(&folders, &by_digits, 1000000), 0);
	assert_int_equal(folders_tree(&folders, &by_digits, &list, &count), 0);
	assert_int_equal(list[0].whole.bytes, total);
	assert_int_equal(list[0].whole.files, 900000);
	for (size_t i = 0; i < count; i++)
		large += list[i].dir % 1000 == 7 && list[i].dir >= 1000000;
	assert_int_equal(large, 900);
}

static void test_files_beyond_the_limit_in_nine_roots_make_nine_folders(void **state)
{
	const struct folders_map roots = {parent_by_digits, NULL};
	CLEANUP_FOLDERS struct folders folders = {0};

	(void)state;
	for (uint64_t i = 0; i < UINT64_C(2) * FOLDERS_MAX; i++)
		assert_int_equal(folders_add(&folders, &roots, 1 + i % 9, 1), 0);
	assert_int_equal(folders_finish(&folders, &roots, 0), 0);
	assert_int_equal(folders.count, 9);
}

static void test_empty_input_makes_an_empty_tree(void **state)
{
	const struct folders folders = {0};

	(void)state;
	assert_string_equal(describe(&folders), "0:0/0 ");
}

static void test_cycle_and_failed_lookup_are_errors(void **state)
{
	const struct folders_map cycle = {parent_of_itself, NULL};
	const struct folders_map failure = {no_parent, NULL};
	CLEANUP_FOLDERS struct folders folders = {0};
	struct folder_node *list = NULL;
	size_t count;

	(void)state;
	add(&folders, 1, 1);
	assert_int_equal(folders_finish(&folders, &cycle, 10), -EUCLEAN);
	assert_int_equal(folders_tree(&folders, &cycle, &list, &count), -EUCLEAN);
	assert_int_equal(folders_finish(&folders, &failure, 10), -EIO);
	assert_int_equal(folders_tree(&folders, &failure, &list, &count), -EIO);
	assert_null(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folder_counts_its_files_and_those_below),
		cmocka_unit_test(test_sums_of_folders_saturate),
		cmocka_unit_test(test_larger_folders_are_first),
		cmocka_unit_test(test_small_folders_are_counted_in_their_parent),
		cmocka_unit_test(
			test_small_folders_that_are_large_together_are_shown_as_their_common_parent),
		cmocka_unit_test(test_folders_below_the_depth_limit_are_counted_at_the_limit),
		cmocka_unit_test(test_folders_below_the_depth_limit_count_as_folded),
		cmocka_unit_test(test_bytes_of_folders_beyond_the_limit_are_counted),
		cmocka_unit_test(test_files_beyond_the_limit_in_nine_roots_make_nine_folders),
		cmocka_unit_test(test_empty_input_makes_an_empty_tree),
		cmocka_unit_test(test_cycle_and_failed_lookup_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
