/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/attributes.h"

static void test_items_stay_when_the_array_grows(void **state)
{
	uint32_t *items = NULL;
	size_t capacity = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(array_reserve(&items, &capacity, i + 1, sizeof(*items)), 0);
		assert_true(capacity > i);
		items[i] = i;
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	free(items);
}

static void test_capacity_doubles(void **state)
{
	uint64_t *items = NULL;
	size_t capacity = 0, before, moves = 0;

	(void)state;
	for (size_t i = 0; i < 1 << 16; i++) {
		before = capacity;
		assert_int_equal(array_reserve(&items, &capacity, i + 1, sizeof(*items)), 0);
		moves += capacity != before;
	}
	assert_true(moves <= 16);
	free(items);
}

static void test_room_for_many_at_once_is_made(void **state)
{
	char *items = NULL;
	size_t capacity = 0;

	(void)state;
	assert_int_equal(array_reserve(&items, &capacity, 1000, 1), 0);
	assert_true(capacity >= 1000);
	free(items);
}

static void test_impossible_count_leaves_the_array_unchanged(void **state)
{
	uint64_t *items = NULL, *before;
	size_t capacity = 0, capacity_before;

	(void)state;
	assert_int_equal(array_reserve(&items, &capacity, 1, sizeof(*items)), 0);
	items[0] = 7;
	before = items;
	capacity_before = capacity;
	assert_int_equal(array_reserve(&items, &capacity, SIZE_MAX / 4, sizeof(*items)), -ENOMEM);
	assert_int_equal(array_reserve(&items, &capacity, SIZE_MAX, sizeof(*items)), -ENOMEM);
	assert_ptr_equal(items, before);
	assert_int_equal(capacity, capacity_before);
	assert_int_equal(items[0], 7);
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_items_stay_when_the_array_grows),
		cmocka_unit_test(test_capacity_doubles),
		cmocka_unit_test(test_room_for_many_at_once_is_made),
		cmocka_unit_test(test_impossible_count_leaves_the_array_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
