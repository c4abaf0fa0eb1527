/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "index/redundant.h"
#include "index/writer.h"
#include "unit_test.h"

static struct group_record group(uint64_t id, uint64_t inodes, uint64_t kept)
{
	return (struct group_record){.id = id, .inodes = inodes, .kept = kept, .size = 5};
}

static struct commit_delta delta;
static struct bytes joined;
static const struct delta_flip *redundancy;
static size_t count;

static void find(const struct delta_group *groups, size_t group_count,
		 const struct member_delta *members, size_t member_count)
{
	commit_delta_free(&delta);
	bytes_free(&joined);
	for (size_t i = 0; i < group_count; i++)
		assert_int_equal(commit_delta_add(&delta, DELTA_GROUPS, &groups[i]), 0);
	assert_int_equal(bytes_append(&joined, members, member_count * sizeof(*members)), 0);
	assert_int_equal(redundancy_changes_find(&delta, &joined), 0);
	redundancy = commit_delta_list(&delta, DELTA_REDUNDANCY, &count);
}

static int free_changes(void **state)
{
	(void)state;
	commit_delta_free(&delta);
	bytes_free(&joined);
	return 0;
}

static void test_new_group_makes_all_but_the_kept_copy_redundant(void **state)
{
	const struct member_delta members[] = {
		{.group = 7, .file = 12, .dir = 3, .joined = true},
		{.group = 7, .file = 10, .dir = 4, .joined = true},
		{.group = 7, .file = 11, .joined = true},
	};
	const struct delta_group groups[] = {{group(7, 0, 0), group(7, 3, 10)}};

	(void)state;
	find(groups, 1, members, 3);
	assert_int_equal(count, 2);
	assert_int_equal(redundancy[0].file, 11);
	assert_int_equal(redundancy[0].dir, 0);
	assert_int_equal(redundancy[1].file, 12);
	assert_int_equal(redundancy[1].dir, 3);
	assert_true(redundancy[0].redundant && redundancy[1].redundant);
	assert_int_equal(redundancy[0].group, 0);
}

static void test_former_kept_copy_becomes_redundant(void **state)
{
	const struct delta_group groups[] = {{group(7, 3, 10), group(7, 3, 11)}};

	(void)state;
	find(groups, 1, NULL, 0);
	assert_int_equal(count, 2);
	assert_int_equal(redundancy[0].file, 10);
	assert_true(redundancy[0].redundant);
	assert_int_equal(redundancy[1].file, 11);
	assert_false(redundancy[1].redundant);
}

static void test_copy_that_joins_another_group_is_redundant_in_that_group(void **state)
{
	const struct member_delta members[] = {{.group = 8, .file = 10, .joined = true},
					       {.group = 7, .file = 10}};
	const struct delta_group groups[] = {
		{group(7, 2, 10), group(7, 1, 11)},
		{group(8, 2, 20), group(8, 3, 20)},
	};

	(void)state;
	find(groups, 2, members, 2);
	assert_int_equal(count, 2);
	assert_int_equal(redundancy[0].file, 10);
	assert_true(redundancy[0].redundant);
	assert_int_equal(redundancy[0].group, 1);
	assert_int_equal(redundancy[1].file, 11);
	assert_false(redundancy[1].redundant);
	assert_int_equal(redundancy[1].group, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_group_makes_all_but_the_kept_copy_redundant),
		cmocka_unit_test(test_former_kept_copy_becomes_redundant),
		cmocka_unit_test(test_copy_that_joins_another_group_is_redundant_in_that_group),
	};

	return cmocka_run_group_tests(tests, NULL, free_changes);
}
