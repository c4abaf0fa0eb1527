/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "choose/sorter.h"
#include "unit_test.h"

#define KEYS 3000
#define KEY_BYTES_MAX 40

static struct key {
	uint8_t bytes[KEY_BYTES_MAX];
	size_t length;
	uint64_t number;
} keys[KEYS];

static int compare_keys(const void *left, const void *right)
{
	const struct key *a = left;
	const struct key *b = right;
	size_t common = a->length < b->length ? a->length : b->length;
	int order = memcmp(a->bytes, b->bytes, common);

	if (order == 0)
		order = a->length < b->length ? -1 : a->length > b->length;
	return order != 0 ? order : (a->number < b->number ? -1 : a->number > b->number);
}

/* Keys, many of which are equal or prefixes of others; some are empty. */
static void make_keys(void)
{
	uint32_t random = 1;

	for (size_t i = 0; i < KEYS; i++) {
		keys[i].number = KEYS - i;
		random = random * 1664525 + 1013904223;
		keys[i].length = (random >> 16) % KEY_BYTES_MAX;
		for (size_t j = 0; j < keys[i].length; j++) {
			random = random * 1664525 + 1013904223;
			keys[i].bytes[j] = (uint8_t)(j < 2 ? (random >> 16) % 3 * 127 : 0);
		}
	}
}

/* Sorts the keys in this much memory and compares with qsort(3). */
static void check_sorted(size_t memory_bytes)
{
	CLEANUP_SORTER struct sorter *sorter = NULL;
	CLEANUP_BYTES struct bytes any = {0};
	uint8_t key[KEY_BYTES_MAX];
	uint64_t number;

	make_keys();
	assert_int_equal(sorter_new(&sorter, memory_bytes), 0);
	for (size_t i = 0; i < KEYS; i++)
		assert_int_equal(sorter_add(sorter, keys[i].bytes, keys[i].length, keys[i].number),
				 0);
	assert_int_equal(sorter_finish(sorter), 0);
	qsort(keys, KEYS, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < KEYS; i++) {
		if (i % 2) {
			assert_int_equal(sorter_next_bytes(sorter, &any, &number), 0);
			assert_int_equal(any.length, keys[i].length);
			if (any.length > 0)
				memcpy(key, any.data, any.length);
		} else {
			assert_int_equal(sorter_next_key(sorter, key, keys[i].length, &number), 0);
		}
		assert_int_equal(number, keys[i].number);
		assert_memory_equal(key, keys[i].bytes, keys[i].length);
	}
	assert_int_equal(sorter_next(sorter, &number), -ENOENT);
	assert_int_equal(sorter_next_key(sorter, key, sizeof(key), &number), -ENOENT);
	assert_int_equal(sorter_next_bytes(sorter, &any, &number), -ENOENT);
}

static void test_keys_that_fit_are_sorted_in_memory(void **state)
{
	(void)state;
	check_sorted(1 << 20);
}

static void test_keys_that_do_not_fit_are_merged_from_parts(void **state)
{
	(void)state;
	check_sorted(20000);
	check_sorted(1000);
}

static void test_parts_of_one_key_are_merged(void **state)
{
	(void)state;
	check_sorted(1);
}

static void test_empty_input_has_empty_output(void **state)
{
	CLEANUP_SORTER struct sorter *sorter = NULL;
	uint64_t number;

	(void)state;
	assert_int_equal(sorter_new(&sorter, 1000), 0);
	assert_int_equal(sorter_finish(sorter), 0);
	assert_int_equal(sorter_next(sorter, &number), -ENOENT);
}

static void test_keys_longer_than_all_memory_and_a_block_are_sorted(void **state)
{
	CLEANUP_SORTER struct sorter *sorter = NULL;
	size_t length = 300000;
	char *key = malloc(length);
	uint64_t number;

	(void)state;
	assert_non_null(key);
	memset(key, 'x', length);
	assert_int_equal(sorter_new(&sorter, 1000), 0);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(sorter_add(sorter, key, length - i, i), 0);
	assert_int_equal(sorter_finish(sorter), 0);
	for (uint64_t i = 5; i > 0; i--) {
		assert_int_equal(sorter_next(sorter, &number), 0);
		assert_int_equal(number, i - 1);
	}
	assert_int_equal(sorter_next(sorter, &number), -ENOENT);
	free(key);
}

static void test_missing_folder_for_parts_is_an_error(void **state)
{
	CLEANUP_SORTER struct sorter *sorter = NULL;

	(void)state;
	assert_int_equal(setenv("TMPDIR", "/dev/null/missing", 1), 0);
	assert_int_equal(sorter_new(&sorter, 1), 0);
	assert_int_equal(sorter_add(sorter, "a", 1, 1), 0);
	assert_int_equal(sorter_add(sorter, "b", 1, 2), -EXDEV);
	assert_int_equal(unsetenv("TMPDIR"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_that_fit_are_sorted_in_memory),
		cmocka_unit_test(test_keys_that_do_not_fit_are_merged_from_parts),
		cmocka_unit_test(test_parts_of_one_key_are_merged),
		cmocka_unit_test(test_empty_input_has_empty_output),
		cmocka_unit_test(test_keys_longer_than_all_memory_and_a_block_are_sorted),
		cmocka_unit_test(test_missing_folder_for_parts_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
