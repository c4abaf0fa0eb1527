/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "watch/dirty.h"

static void note(struct dirty *dirty, uint64_t dir, const char *name, uint32_t why)
{
	uint32_t length = name ? (uint32_t)strlen(name) : 0;

	assert_int_equal(dirty_note(dirty, dir, name, length, why), 0);
}

/* Why the only entry is dirty. */
static uint32_t only_why(const struct dirty *dirty)
{
	const struct dirty_name **list AUTO_FREE = NULL;
	size_t count;

	assert_int_equal(dirty_list(dirty, &list, &count), 0);
	assert_int_equal(count, 1);
	return list[0]->why;
}

/* Why any of the entries is dirty. */
static uint32_t whys(const struct dirty *dirty)
{
	const struct dirty_name **list AUTO_FREE = NULL;
	uint32_t why = 0;
	size_t count;

	assert_int_equal(dirty_list(dirty, &list, &count), 0);
	for (size_t i = 0; i < count; i++)
		why |= list[i]->why;
	return why;
}

static void assert_entry(const struct dirty_name *entry, uint64_t dir, const char *name)
{
	assert_int_equal(entry->dir, dir);
	assert_int_equal(entry->length, strlen(name));
	assert_string_equal(entry->name, name);
}

static void test_nothing_is_listed_at_first(void **state)
{
	struct dirty dirty CLEANUP(dirty_reset) = {0};
	const struct dirty_name **list AUTO_FREE = NULL;
	size_t count = 1;

	(void)state;
	assert_int_equal(dirty_list(&dirty, &list, &count), 0);
	assert_int_equal(count, 0);
}

static void test_name_is_held_once_with_all_reasons(void **state)
{
	struct dirty dirty CLEANUP(dirty_reset) = {0};

	(void)state;
	note(&dirty, 7, "name", DIRTY_NAME);
	note(&dirty, 7, "name", DIRTY_NAME | DIRTY_MOVED);
	note(&dirty, 7, "name", DIRTY_ATTRIBUTES);
	assert_int_equal(dirty.count, 1);
	assert_int_equal(only_why(&dirty), DIRTY_NAME | DIRTY_MOVED | DIRTY_ATTRIBUTES);
}

static void test_write_after_close_takes_closed_back(void **state)
{
	struct dirty dirty CLEANUP(dirty_reset) = {0};

	(void)state;
	note(&dirty, 1, "a", DIRTY_CONTENT);
	note(&dirty, 1, "a", DIRTY_CONTENT | DIRTY_CLOSED);
	assert_int_equal(only_why(&dirty), DIRTY_CONTENT | DIRTY_CLOSED);
	note(&dirty, 1, "a", DIRTY_ATTRIBUTES);
	assert_int_equal(only_why(&dirty), DIRTY_CONTENT | DIRTY_CLOSED | DIRTY_ATTRIBUTES);
	note(&dirty, 1, "a", DIRTY_CONTENT);
	assert_int_equal(only_why(&dirty), DIRTY_CONTENT | DIRTY_ATTRIBUTES);
	note(&dirty, 1, "a", DIRTY_CONTENT | DIRTY_CLOSED);
	assert_int_equal(only_why(&dirty), DIRTY_CONTENT | DIRTY_CLOSED | DIRTY_ATTRIBUTES);
}

static void test_what_came_and_was_removed_or_replaced_is_lost(void **state)
{
	static const uint32_t came[] = {DIRTY_CREATED, DIRTY_CAME, DIRTY_UNSEEN};
	static const uint32_t ended[] = {DIRTY_REMOVED, DIRTY_CREATED, DIRTY_CAME, DIRTY_UNSEEN};
	static const uint32_t others[] = {DIRTY_MOVED, DIRTY_CONTENT, DIRTY_ATTRIBUTES};
	struct dirty dirty CLEANUP(dirty_reset) = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(came); i++) {
		dirty_reset(&dirty);
		note(&dirty, 1, "a", DIRTY_NAME | DIRTY_REMOVED);
		note(&dirty, 1, "a", DIRTY_NAME | came[i]);
		for (size_t n = 0; n < ARRAY_SIZE(others); n++)
			note(&dirty, 1, "a", others[n]);
		assert_int_equal(only_why(&dirty) & DIRTY_LOST, 0);
		for (size_t n = 0; n < ARRAY_SIZE(ended); n++) {
			dirty_reset(&dirty);
			note(&dirty, 1, "a", DIRTY_NAME | came[i]);
			note(&dirty, 1, "a", DIRTY_NAME | ended[n]);
			assert_int_equal(only_why(&dirty) & DIRTY_LOST, DIRTY_LOST);
		}
	}
}

static void test_what_came_under_a_name_that_came_before_is_lost(void **state)
{
	struct dirty earlier CLEANUP(dirty_reset) = {0};
	struct dirty dirty CLEANUP(dirty_reset) = {0};

	(void)state;
	note(&earlier, 1, "a", DIRTY_CREATED);
	note(&earlier, 2, "b", DIRTY_CREATED);
	note(&earlier, 1, "c", DIRTY_CONTENT);
	note(&dirty, 1, "b", DIRTY_CAME);
	note(&dirty, 1, "c", DIRTY_CAME);
	dirty_note_lost(&dirty, &earlier);
	assert_int_equal(whys(&dirty), DIRTY_CAME);
	dirty_reset(&dirty);
	note(&dirty, 1, "a", DIRTY_REMOVED);
	dirty_note_lost(&dirty, &earlier);
	assert_int_equal(only_why(&dirty), DIRTY_REMOVED);
	note(&dirty, 1, "a", DIRTY_CAME);
	assert_int_equal(only_why(&dirty), DIRTY_REMOVED | DIRTY_CAME);
	dirty_note_lost(&dirty, &earlier);
	assert_int_equal(only_why(&dirty), DIRTY_REMOVED | DIRTY_CAME | DIRTY_LOST);
}

static void test_list_is_sorted_with_the_directory_before_its_names(void **state)
{
	struct dirty dirty CLEANUP(dirty_reset) = {0};
	const struct dirty_name **list AUTO_FREE = NULL;
	size_t count;

	(void)state;
	note(&dirty, UINT64_MAX, "z", DIRTY_NAME);
	note(&dirty, 2, "b", DIRTY_NAME);
	note(&dirty, 2, "\xff", DIRTY_NAME);
	note(&dirty, 2, "bb", DIRTY_NAME);
	note(&dirty, 2, NULL, DIRTY_LISTING);
	note(&dirty, 1, "c", DIRTY_NAME);
	assert_int_equal(dirty_list(&dirty, &list, &count), 0);
	assert_int_equal(count, 6);
	assert_entry(list[0], 1, "c");
	assert_entry(list[1], 2, "");
	assert_entry(list[2], 2, "b");
	assert_entry(list[3], 2, "bb");
	assert_entry(list[4], 2, "\xff");
	assert_entry(list[5], UINT64_MAX, "z");
}

static void test_names_of_any_bytes_and_length_are_kept(void **state)
{
	struct dirty dirty CLEANUP(dirty_reset) = {0};
	const struct dirty_name **list AUTO_FREE = NULL;
	char *name AUTO_FREE = malloc(5000);
	size_t count;

	(void)state;
	assert_non_null(name);
	memset(name, '\n', 5000);
	assert_int_equal(dirty_note(&dirty, 1, name, 5000, DIRTY_NAME), 0);
	assert_int_equal(dirty_note(&dirty, 1, name, 4999, DIRTY_NAME), 0);
	assert_int_equal(dirty_list(&dirty, &list, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(list[1]->length, 5000);
	assert_memory_equal(list[1]->name, name, 5000);
}

static void test_merging_is_like_noting_in_that_order(void **state)
{
	struct dirty dirty CLEANUP(dirty_reset) = {0}, later CLEANUP(dirty_reset) = {0};
	size_t bytes;

	(void)state;
	note(&later, 1, "a", DIRTY_CONTENT | DIRTY_CLOSED);
	later.overflowed = 4;
	bytes = later.bytes;
	assert_int_equal(dirty_merge(&dirty, &later), 0);
	assert_int_equal(later.count + later.bytes + later.overflowed, 0);
	assert_int_equal(dirty.overflowed, 4);
	assert_int_equal(dirty.bytes, bytes);
	assert_int_equal(only_why(&dirty), DIRTY_CONTENT | DIRTY_CLOSED);

	note(&later, 1, "a", DIRTY_CONTENT);
	later.overflowed = 1;
	assert_int_equal(dirty_merge(&dirty, &later), 0);
	assert_int_equal(later.count + later.bytes + later.overflowed, 0);
	assert_int_equal(dirty.overflowed, 5);
	assert_int_equal(dirty.bytes, bytes);
	assert_int_equal(only_why(&dirty), DIRTY_CONTENT);

	note(&later, 1, "b", DIRTY_NAME);
	assert_int_equal(dirty_merge(&dirty, &later), 0);
	assert_int_equal(dirty.count, 2);
	assert_int_equal(dirty_merge(&dirty, &later), 0);
	assert_int_equal(dirty.count, 2);
}

static void test_many_names_are_kept_and_forgotten(void **state)
{
	struct dirty dirty CLEANUP(dirty_reset) = {0};
	const struct dirty_name **list AUTO_FREE = NULL;
	char name[16];
	size_t count;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		(void)snprintf(name, sizeof(name), "%06d", i / 2);
		note(&dirty, 1 + (uint64_t)i % 3, name, DIRTY_NAME);
	}
	assert_int_equal(dirty_list(&dirty, &list, &count), 0);
	assert_int_equal(count, dirty.count);
	assert_int_equal(count, 200000);
	for (size_t i = 1; i < count; i++)
		assert_true(list[i - 1]->dir < list[i]->dir ||
			    strcmp(list[i - 1]->name, list[i]->name) < 0);
	assert_true(dirty.bytes > count * 20);
	dirty_reset(&dirty);
	assert_int_equal(dirty.count + dirty.bytes, 0);
	note(&dirty, 1, "again", DIRTY_NAME);
	assert_int_equal(only_why(&dirty), DIRTY_NAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_listed_at_first),
		cmocka_unit_test(test_name_is_held_once_with_all_reasons),
		cmocka_unit_test(test_what_came_and_was_removed_or_replaced_is_lost),
		cmocka_unit_test(test_what_came_under_a_name_that_came_before_is_lost),
		cmocka_unit_test(test_write_after_close_takes_closed_back),
		cmocka_unit_test(test_list_is_sorted_with_the_directory_before_its_names),
		cmocka_unit_test(test_names_of_any_bytes_and_length_are_kept),
		cmocka_unit_test(test_merging_is_like_noting_in_that_order),
		cmocka_unit_test(test_many_names_are_kept_and_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
