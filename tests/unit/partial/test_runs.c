/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "partial/blocks.h"
#include "unit_test.h"

#define BITS 12U
#define BLOCK (UINT64_C(1) << BITS)

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t end)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % end;
}

/* Adds a file whose blocks are letters; '.' is a hole. */
static void add_file(struct block_table *table, const char *letters)
{
	struct block_file file = {.id = table->file_count + 1, .size = strlen(letters) * BLOCK};
	uint64_t hashes[BLOCK_BATCH];
	uint32_t count = (uint32_t)strlen(letters);
	long index = block_table_add_file(table, &file);

	assert_true(index >= 0);
	assert_true(count <= BLOCK_BATCH);
	for (uint32_t i = 0; i < count; i++)
		hashes[i] = letters[i] == '.' ? 0 : (uint64_t)letters[i] * UINT64_C(1000003);
	assert_int_equal(block_table_add(table, (uint32_t)index, 0, hashes, count), 0);
}

static void find(struct block_table *table, uint32_t min_blocks, struct run_list *runs)
{
	assert_int_equal(block_table_classify(table), 0);
	assert_int_equal(runs_find(table, min_blocks, runs), 0);
}

static void assert_run(const struct block_table *table, const struct block_run *run,
		       const uint64_t expected[5])
{
	struct block_place source = block_table_locate(table, run->source);
	struct block_place destination = block_table_locate(table, run->destination);

	assert_int_equal(source.file, expected[0]);
	assert_int_equal(source.offset, expected[1] * BLOCK);
	assert_int_equal(destination.file, expected[2]);
	assert_int_equal(destination.offset, expected[3] * BLOCK);
	assert_int_equal(run->count, expected[4]);
}

static void test_run_at_another_offset_has_its_maximal_length(void **state)
{
	CLEANUP_BLOCK_TABLE struct block_table table;
	CLEANUP_RUN_LIST struct run_list runs = {0};

	(void)state;
	assert_int_equal(block_table_init(&table, BITS), 0);
	add_file(&table, "abcdefgh");
	add_file(&table, "xybcdefz");
	find(&table, 1, &runs);
	assert_int_equal(runs.count, 1);
	assert_run(&table, &runs.list[0], (uint64_t[]){0, 1, 1, 2, 5});
}

static void test_longest_match_is_taken(void **state)
{
	CLEANUP_BLOCK_TABLE struct block_table table;
	CLEANUP_RUN_LIST struct run_list runs = {0};

	(void)state;
	assert_int_equal(block_table_init(&table, BITS), 0);
	add_file(&table, "abx");
	add_file(&table, "Abcd"); /* its b becomes a destination */
	add_file(&table, "bcd");
	find(&table, 1, &runs);
	assert_int_equal(runs.count, 3);
	assert_run(&table, &runs.list[0], (uint64_t[]){0, 1, 1, 1, 1});
	/* the source of the match is in two places by then */
	assert_run(&table, &runs.list[1], (uint64_t[]){0, 1, 2, 0, 1});
	assert_run(&table, &runs.list[2], (uint64_t[]){1, 2, 2, 1, 2});
}

static void test_short_matches_are_left_out_and_stay_sources(void **state)
{
	CLEANUP_BLOCK_TABLE struct block_table table;
	CLEANUP_RUN_LIST struct run_list runs = {0};

	(void)state;
	assert_int_equal(block_table_init(&table, BITS), 0);
	add_file(&table, "abcd");
	add_file(&table, "xabyz");
	add_file(&table, "uabyz");
	find(&table, 3, &runs);
	assert_int_equal(runs.count, 1);
	assert_run(&table, &runs.list[0], (uint64_t[]){1, 1, 2, 1, 4});
}

static void test_run_does_not_cross_a_hole_or_the_end_of_a_file(void **state)
{
	CLEANUP_BLOCK_TABLE struct block_table table;
	CLEANUP_RUN_LIST struct run_list runs = {0};

	(void)state;
	assert_int_equal(block_table_init(&table, BITS), 0);
	add_file(&table, "ab.cd");
	add_file(&table, "ef");
	add_file(&table, "abcdef");
	find(&table, 1, &runs);
	assert_int_equal(runs.count, 3);
	assert_run(&table, &runs.list[0], (uint64_t[]){0, 0, 2, 0, 2});
	assert_run(&table, &runs.list[1], (uint64_t[]){0, 3, 2, 2, 2});
	assert_run(&table, &runs.list[2], (uint64_t[]){1, 0, 2, 4, 2});
}

static void test_runs_in_one_file_do_not_overlap(void **state)
{
	CLEANUP_BLOCK_TABLE struct block_table table;
	CLEANUP_RUN_LIST struct run_list runs = {0};

	(void)state;
	assert_int_equal(block_table_init(&table, BITS), 0);
	add_file(&table, "ababababab");
	find(&table, 1, &runs);
	for (size_t i = 0; i < runs.count; i++)
		assert_true(runs.list[i].source + runs.list[i].count <= runs.list[i].destination);
	assert_int_equal(runs.list[0].destination, 2);
}

/* ---- a model ------------------------------------------------------------------------- */

/* Shares the runs in a random order, as a file system would. Checks that no run shares other bytes,
 * and that in the end all blocks of a class are at one place. */
static void share_at_random(const struct block_table *table, struct run_list *runs)
{
	uint32_t *place = calloc(table->end, sizeof(*place));
	bool *is_destination = calloc(table->end, sizeof(*is_destination));

	assert_non_null(place);
	assert_non_null(is_destination);
	for (uint32_t i = 0; i < table->end; i++)
		place[i] = i;
	for (size_t i = runs->count; i > 1; i--) {
		size_t other = random_below((uint32_t)i);
		struct block_run run = runs->list[i - 1];

		runs->list[i - 1] = runs->list[other];
		runs->list[other] = run;
	}
	for (size_t i = 0; i < runs->count; i++) {
		for (uint32_t j = 0; j < runs->list[i].count; j++) {
			uint32_t source = runs->list[i].source + j;
			uint32_t destination = runs->list[i].destination + j;

			assert_true(table->class_of[source] != 0);
			assert_int_equal(table->class_of[source], table->class_of[destination]);
			assert_false(is_destination[destination]);
			is_destination[destination] = true;
			place[destination] = place[source];
		}
	}
	for (uint32_t i = 0; i < table->end; i++) {
		uint32_t class = table->class_of[i];

		if (class)
			assert_int_equal(place[i], table->members[table->first[class - 1]]);
	}
	free(place);
	free(is_destination);
}

static void test_random_files_share_all_equal_blocks_in_any_order(void **state)
{
	(void)state;
	for (int round = 0; round < 300; round++) {
		CLEANUP_BLOCK_TABLE struct block_table table;
		CLEANUP_RUN_LIST struct run_list runs = {0};
		uint32_t letters = 1 + random_below(30), files = 1 + random_below(6);
		char text[41];

		assert_int_equal(block_table_init(&table, BITS), 0);
		for (uint32_t i = 0; i < files; i++) {
			uint32_t length = random_below(sizeof(text));

			for (uint32_t j = 0; j < length; j++)
				text[j] = (char)(random_below(8) ? 'A' + random_below(letters)
								 : (uint32_t)'.');
			text[length] = '\0';
			add_file(&table, text);
		}
		find(&table, 1, &runs);
		share_at_random(&table, &runs);
	}
}

static void test_block_with_very_many_equals_is_in_a_run(void **state)
{
	CLEANUP_BLOCK_TABLE struct block_table table;
	CLEANUP_RUN_LIST struct run_list runs = {0};
	char text[BLOCK_BATCH + 1];

	(void)state;
	memset(text, 'a', BLOCK_BATCH);
	text[BLOCK_BATCH] = '\0';
	assert_int_equal(block_table_init(&table, BITS), 0);
	for (int i = 0; i < 20; i++)
		add_file(&table, text);
	find(&table, 1, &runs);
	share_at_random(&table, &runs);
}

static void test_longest_runs_are_first(void **state)
{
	CLEANUP_RUN_LIST struct run_list runs = {0};
	const uint32_t counts[] = {3, 1, 7, 7, 2};

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(counts); i++)
		assert_int_equal(run_list_add(&runs, &(struct block_run){0, 100 - i, counts[i]}),
				 0);
	runs_sort(&runs);
	assert_int_equal(runs.list[0].count, 7);
	assert_int_equal(runs.list[0].destination, 97);
	assert_int_equal(runs.list[1].destination, 98);
	assert_int_equal(runs.list[4].count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_at_another_offset_has_its_maximal_length),
		cmocka_unit_test(test_longest_match_is_taken),
		cmocka_unit_test(test_short_matches_are_left_out_and_stay_sources),
		cmocka_unit_test(test_run_does_not_cross_a_hole_or_the_end_of_a_file),
		cmocka_unit_test(test_runs_in_one_file_do_not_overlap),
		cmocka_unit_test(test_random_files_share_all_equal_blocks_in_any_order),
		cmocka_unit_test(test_block_with_very_many_equals_is_in_a_run),
		cmocka_unit_test(test_longest_runs_are_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
