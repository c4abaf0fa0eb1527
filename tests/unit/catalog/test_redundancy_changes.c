/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "catalog/redundancy_changes.h"
#include "unit_test.h"

static struct group_record group(uint64_t id, uint64_t inodes, uint64_t kept)
{
	return (struct group_record){.id = id, .inodes = inodes, .kept = kept, .size = 5};
}

static struct delta_builder builder;
static const struct delta_flip *redundancy;
static size_t count;

static void find(const struct delta_group *groups, size_t group_count,
		 const struct member_delta *members, size_t member_count)
{
	delta_builder_reset(&builder);
	assert_int_equal(bytes_append(&builder.groups, groups, group_count * sizeof(*groups)), 0);
	assert_int_equal(bytes_append(&builder.members, members, member_count * sizeof(*members)),
			 0);
	assert_int_equal(redundancy_changes_find(&builder), 0);
	redundancy = (const void *)builder.redundancy.data;
	count = builder.redundancy.length / sizeof(*redundancy);
}

static int forget(void **state)
{
	(void)state;
	delta_builder_free(&builder);
	return 0;
}

static void test_a_new_group_makes_all_but_the_kept_one_redundant(void **state)
{
	const struct member_delta members[] = {{7, 12, true}, {7, 10, true}, {7, 11, true}};
	const struct delta_group groups[] = {{group(7, 0, 0), group(7, 3, 10)}};

	(void)state;
	find(groups, 1, members, 3);
	assert_int_equal(count, 2);
	assert_int_equal(redundancy[0].file, 11);
	assert_int_equal(redundancy[1].file, 12);
	assert_true(redundancy[0].redundant && redundancy[1].redundant);
	assert_int_equal(redundancy[0].group, 0);
}

static void test_the_next_kept_one_becomes_unique(void **state)
{
	const struct member_delta members[] = {{7, 10, false}};
	const struct delta_group groups[] = {{group(7, 3, 10), group(7, 2, 11)}};

	(void)state;
	find(groups, 1, members, 1);
	assert_int_equal(count, 1);
	assert_int_equal(redundancy[0].file, 11);
	assert_false(redundancy[0].redundant);
	assert_int_equal(redundancy[0].group, 0); /* where it was redundant */
}

static void test_who_is_kept_no_longer_becomes_redundant(void **state)
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

static void test_a_redundant_copy_that_leaves_becomes_unique(void **state)
{
	const struct member_delta members[] = {{7, 11, false}};
	const struct delta_group groups[] = {{group(7, 2, 10), group(7, 1, 10)}};

	(void)state;
	find(groups, 1, members, 1);
	assert_int_equal(count, 1);
	assert_int_equal(redundancy[0].file, 11);
	assert_false(redundancy[0].redundant);
}

static void test_a_group_of_one_flips_nothing(void **state)
{
	const struct member_delta members[] = {{7, 10, true}};
	const struct delta_group groups[] = {{group(7, 0, 0), group(7, 1, 10)}};

	(void)state;
	find(groups, 1, members, 1);
	assert_int_equal(count, 0);
}

static void test_who_goes_from_one_group_to_another_stays_redundant(void **state)
{
	const struct member_delta members[] = {{7, 11, false}, {8, 11, true}};
	const struct delta_group groups[] = {
		{group(8, 2, 20), group(8, 3, 20)},
		{group(7, 3, 10), group(7, 2, 10)},
	};

	(void)state;
	find(groups, 2, members, 2);
	assert_int_equal(count, 0);
}

static void test_who_becomes_redundant_in_another_group_is_told_of_that(void **state)
{
	const struct member_delta members[] = {{8, 10, true}, {7, 10, false}};
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

static void test_who_leaves_and_comes_back_at_once_has_not_flipped(void **state)
{
	const struct member_delta back[] = {{7, 11, false}, {7, 11, true}};
	const struct member_delta gone[] = {{7, 12, true}, {7, 12, false}};
	const struct delta_group groups[] = {{group(7, 3, 10), group(7, 3, 10)}};

	(void)state;
	find(groups, 1, back, 2);
	assert_int_equal(count, 0);
	find(groups, 1, gone, 2);
	assert_int_equal(count, 0);
	find(groups, 0, gone, 2); /* of a group that nothing is said of */
	assert_int_equal(count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_new_group_makes_all_but_the_kept_one_redundant),
		cmocka_unit_test(test_the_next_kept_one_becomes_unique),
		cmocka_unit_test(test_who_is_kept_no_longer_becomes_redundant),
		cmocka_unit_test(test_a_redundant_copy_that_leaves_becomes_unique),
		cmocka_unit_test(test_a_group_of_one_flips_nothing),
		cmocka_unit_test(test_who_goes_from_one_group_to_another_stays_redundant),
		cmocka_unit_test(test_who_becomes_redundant_in_another_group_is_told_of_that),
		cmocka_unit_test(test_who_leaves_and_comes_back_at_once_has_not_flipped),
	};

	return cmocka_run_group_tests(tests, NULL, forget);
}
