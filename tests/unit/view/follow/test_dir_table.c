/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <string.h>

#include "base/attributes.h"
#include "unit_test.h"
#include "view/follow/dir_table.h"

/* The directories of the model: number n has the key of value n, or is not in the table. */
#define DIRS 300
#define STEPS 200000

#define SEED 7

static struct dir_key key_of(uint64_t value)
{
	return dir_key_of(&value, sizeof(value), SEED);
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void test_keys_depend_on_all_bytes_and_on_the_seed(void **state)
{
	char bytes[40] = "a file system and a handle";
	struct dir_key key = dir_key_of(bytes, sizeof(bytes), 1), other;

	(void)state;
	other = dir_key_of(bytes, sizeof(bytes), 1);
	assert_true(key.low == other.low && key.high == other.high);
	other = dir_key_of(bytes, sizeof(bytes), 2);
	assert_true(key.low != other.low && key.high != other.high);
	other = dir_key_of(bytes, sizeof(bytes) - 1, 1);
	assert_true(key.low != other.low);
}

static void test_keys_of_watches_have_their_numbers(void **state)
{
	static const int numbers[] = {0, 1, 2, 65536, INT_MAX};
	struct dir_table table CLEANUP(dir_table_reset) = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct dir_key key = dir_key_of_watch(numbers[i]);

		assert_int_equal(dir_key_watch(key), numbers[i]);
		assert_int_equal(dir_table_find(&table, key), 0);
		assert_int_equal(dir_table_add(&table, key, i + 1), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		assert_int_equal(dir_table_find(&table, dir_key_of_watch(numbers[i])), i + 1);
}

/* Two keys that differ only in their upper bits are not the same. */
static void test_keys_with_equal_lower_bits_are_different(void **state)
{
	struct dir_table table CLEANUP(dir_table_reset) = {0};

	(void)state;
	assert_int_equal(dir_table_add(&table, (struct dir_key){5, 1}, 1), 0);
	assert_int_equal(dir_table_add(&table, (struct dir_key){5, 2}, 2), 0);
	assert_int_equal(dir_table_find(&table, (struct dir_key){5, 1}), 1);
	assert_int_equal(dir_table_find(&table, (struct dir_key){5, 2}), 2);
	assert_int_equal(dir_table_find(&table, (struct dir_key){5, 3}), 0);
}

static void test_largest_number_is_kept(void **state)
{
	const uint64_t largest = (UINT64_C(1) << 48) - 1;
	struct dir_table table CLEANUP(dir_table_reset) = {0};
	struct dir_key key = {UINT64_MAX, UINT16_MAX}, removed;

	(void)state;
	assert_int_equal(dir_table_add(&table, key, largest), 0);
	assert_int_equal(dir_table_find(&table, key), largest);
	assert_true(dir_table_remove(&table, largest, &removed));
	assert_true(removed.low == key.low && removed.high == key.high);
	assert_false(dir_table_has(&table, largest));
}

static void check(const struct dir_table *table, const uint64_t *dir_of)
{
	size_t count = 0;

	for (uint64_t value = 1; value < DIRS; value++) {
		assert_int_equal(dir_table_find(table, key_of(value)), dir_of[value]);
		if (dir_of[value]) {
			assert_true(dir_table_has(table, dir_of[value]));
			count++;
		}
	}
	assert_int_equal(table->count, count);
}

static void test_random_changes_agree_with_a_model(void **state)
{
	struct dir_table table CLEANUP(dir_table_reset) = {0};
	uint64_t dir_of[DIRS] = {0}, next = 1;
	struct dir_key key, wanted;
	uint32_t random = 1;

	(void)state;
	for (unsigned int step = 0; step < STEPS; step++) {
		uint64_t value = 1 + next_random(&random) % (DIRS - 1);
		bool renumbers = next_random(&random) % 2;

		wanted = key_of(value);
		if (!dir_of[value]) {
			dir_of[value] = next++;
			assert_int_equal(dir_table_add(&table, wanted, dir_of[value]), 0);
		} else if (renumbers) {
			dir_table_renumber(&table, dir_of[value], next);
			assert_false(dir_table_has(&table, dir_of[value]));
			dir_of[value] = next++;
		} else {
			assert_true(dir_table_remove(&table, dir_of[value], &key));
			assert_true(key.low == wanted.low && key.high == wanted.high);
			dir_of[value] = 0;
		}
		if (step % 1000 == 0)
			check(&table, dir_of);
	}
	check(&table, dir_of);
}

static void test_empty_table_has_nothing(void **state)
{
	struct dir_table table = {0};
	struct dir_key key;

	(void)state;
	assert_int_equal(dir_table_find(&table, key_of(1)), 0);
	assert_false(dir_table_has(&table, 1));
	assert_false(dir_table_remove(&table, 1, &key));
	dir_table_reset(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_depend_on_all_bytes_and_on_the_seed),
		cmocka_unit_test(test_keys_of_watches_have_their_numbers),
		cmocka_unit_test(test_keys_with_equal_lower_bits_are_different),
		cmocka_unit_test(test_largest_number_is_kept),
		cmocka_unit_test(test_random_changes_agree_with_a_model),
		cmocka_unit_test(test_empty_table_has_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
