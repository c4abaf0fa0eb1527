/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "partial/blocks.h"
#include "unit_test.h"

#define BITS 12U

static void add_file(struct block_table *table, uint64_t size, uint32_t volume)
{
	const struct block_file file = {.id = 1, .size = size, .volume = volume};

	assert_true(block_table_add_file(table, &file) >= 0);
}

static void add(struct block_table *table, uint32_t file, uint64_t first, const uint64_t *hashes,
		uint32_t count)
{
	assert_int_equal(block_table_add(table, file, first, hashes, count), 0);
}

static void test_blocks_are_numbered_by_file_and_place(void **state)
{
	CLEANUP_BLOCK_TABLE struct block_table table;

	(void)state;
	assert_int_equal(block_table_init(&table, BITS), 0);
	add_file(&table, 100 << BITS, 0);
	add_file(&table, (3 << BITS) + 5, 0);
	add(&table, 1, 0, (uint64_t[]){7, 8, 9, 10}, 4);
	add(&table, 0, 50, (uint64_t[]){3, 0, 4}, 3);
	add(&table, 0, 0, (uint64_t[]){1, 2}, 2);
	add(&table, 0, 2, (uint64_t[]){3}, 1); /* continues the range */
	assert_int_equal(block_table_classify(&table), 0);
	assert_int_equal(table.range_count, 4);
	/* 0 1 2 - 50 - 52 - 0 1 2 3 */
	assert_int_equal(block_table_locate(&table, 2).offset, 2 << BITS);
	assert_int_equal(block_table_locate(&table, 4).offset, 50 << BITS);
	assert_int_equal(block_table_locate(&table, 6).offset, 52 << BITS);
	assert_int_equal(block_table_locate(&table, 8).file, 1);
	assert_int_equal(table.end, 12);
	assert_int_equal(table.class_of[2], table.class_of[4]);
	assert_true(table.class_of[2] != 0);
	assert_int_equal(table.class_of[3], 0);
	assert_int_equal(table.classes, 1);
	assert_int_equal(block_table_bytes(&table, 8, 4), (3 << BITS) + 5);
	assert_int_equal(block_table_bytes(&table, 8, 3), 3 << BITS);
}

static void test_blocks_of_two_volumes_are_not_equal(void **state)
{
	CLEANUP_BLOCK_TABLE struct block_table table;

	(void)state;
	assert_int_equal(block_table_init(&table, BITS), 0);
	add_file(&table, 1 << BITS, 0);
	add_file(&table, 1 << BITS, 1);
	add_file(&table, 1 << BITS, 1);
	for (uint32_t i = 0; i < 3; i++)
		add(&table, i, 0, (uint64_t[]){77}, 1);
	assert_int_equal(block_table_classify(&table), 0);
	assert_int_equal(table.classes, 1);
	assert_int_equal(table.class_of[0], 0);
	assert_int_equal(table.class_of[2], table.class_of[4]);
}

static void test_hashes_of_a_dropped_file_are_not_used(void **state)
{
	CLEANUP_BLOCK_TABLE struct block_table table;

	(void)state;
	assert_int_equal(block_table_init(&table, BITS), 0);
	add_file(&table, 1 << BITS, 0);
	add_file(&table, 1 << BITS, 0);
	add(&table, 0, 0, (uint64_t[]){77}, 1);
	add(&table, 1, 0, (uint64_t[]){77}, 1);
	table.files[0].dropped = true;
	assert_int_equal(block_table_classify(&table), 0);
	assert_int_equal(table.classes, 0);
	assert_int_equal(table.end, 1);
}

/* Counts the pairs of equal hashes, and of blocks of one class. */
static void test_classes_are_the_same_with_less_memory(void **state)
{
	CLEANUP_BLOCK_TABLE struct block_table table;
	uint64_t hashes[BLOCK_BATCH];
	uint64_t random = 1, equal = 0, found = 0;

	(void)state;
	assert_int_equal(block_table_init(&table, BITS), 0);
	table.sort_bytes = 5000;
	add_file(&table, (uint64_t)BLOCK_BATCH << BITS, 3);
	for (uint32_t i = 0; i < BLOCK_BATCH; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		hashes[i] = (random >> 33) % 1500 + 1;
	}
	add(&table, 0, 0, hashes, BLOCK_BATCH);
	assert_int_equal(block_table_classify(&table), 0);
	for (uint32_t i = 0; i < BLOCK_BATCH; i++) {
		for (uint32_t j = 0; j < i; j++) {
			equal += hashes[i] == hashes[j];
			found += table.class_of[i] && table.class_of[i] == table.class_of[j];
		}
	}
	assert_true(equal > BLOCK_BATCH);
	assert_int_equal(equal, found);
	for (uint32_t c = 1; c <= table.classes; c++) {
		for (uint32_t i = table.first[c - 1] + 1; i < table.first[c]; i++)
			assert_true(table.members[i - 1] < table.members[i]);
	}
}

static void test_table_without_files_has_no_class(void **state)
{
	CLEANUP_BLOCK_TABLE struct block_table table;

	(void)state;
	assert_int_equal(block_table_init(&table, BITS), 0);
	assert_int_equal(block_table_classify(&table), 0);
	assert_int_equal(table.classes, 0);
	assert_int_equal(table.end, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_are_numbered_by_file_and_place),
		cmocka_unit_test(test_blocks_of_two_volumes_are_not_equal),
		cmocka_unit_test(test_hashes_of_a_dropped_file_are_not_used),
		cmocka_unit_test(test_classes_are_the_same_with_less_memory),
		cmocka_unit_test(test_table_without_files_has_no_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
