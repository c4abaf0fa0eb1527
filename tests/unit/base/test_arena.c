/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "unit_test.h"

#define PIECES 3000

static void test_pieces_are_aligned_and_do_not_overlap(void **state)
{
	struct arena arena CLEANUP(arena_free) = {0};
	unsigned char *pieces[PIECES];
	size_t sizes[PIECES];

	(void)state;
	srandom(1);
	for (size_t i = 0; i < PIECES; i++) {
		sizes[i] = (size_t)random() % (i % 100 ? 300 : 200000);
		pieces[i] = arena_take(&arena, sizes[i]);
		assert_non_null(pieces[i]);
		assert_int_equal((uintptr_t)pieces[i] % 8, 0);
		memset(pieces[i], (int)(i % 251), sizes[i]);
	}
	for (size_t i = 0; i < PIECES; i++) {
		for (size_t at = 0; at < sizes[i]; at++)
			assert_int_equal(pieces[i][at], i % 251);
	}
}

static void test_copies_end_with_a_nul(void **state)
{
	struct arena arena CLEANUP(arena_free) = {0};

	(void)state;
	assert_string_equal(arena_copy(&arena, "", 0), "");
	assert_string_equal(arena_copy(&arena, "12345678", 7), "1234567");
	assert_memory_equal(arena_copy(&arena, "a\0b", 3), "a\0b", 4);
}

static void test_reset_keeps_memory_bounded(void **state)
{
	struct arena arena CLEANUP(arena_free) = {0};
	size_t once;

	(void)state;
	arena_reset(&arena);
	for (int i = 0; i < 1000; i++)
		assert_non_null(arena_take(&arena, 1000));
	arena_reset(&arena);
	once = arena.total_bytes;
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 1000; i++)
			assert_non_null(memset(arena_take(&arena, 1000), round, 1000));
		arena_reset(&arena);
		assert_int_equal(arena.total_bytes, once);
	}
}

static void test_size_that_no_memory_can_hold_is_refused(void **state)
{
	struct arena arena CLEANUP(arena_free) = {0};

	(void)state;
	assert_null(arena_take(&arena, SIZE_MAX));
	assert_null(arena_take(&arena, SIZE_MAX - 7));
	assert_null(arena_take(&arena, SIZE_MAX - 8));
	assert_non_null(arena_take(&arena, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces_are_aligned_and_do_not_overlap),
		cmocka_unit_test(test_copies_end_with_a_nul),
		cmocka_unit_test(test_reset_keeps_memory_bounded),
		cmocka_unit_test(test_size_that_no_memory_can_hold_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
