/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "unit_test.h"
#include "view/follow/event_set.h"

static void note(struct event_set *set, uint64_t dir, const char *name, uint32_t events)
{
	uint32_t length = name ? (uint32_t)strlen(name) : 0;

	assert_int_equal(event_set_add(set, dir, name, length, events), 0);
}

/* The events of the only entry. */
static uint32_t only_events(const struct event_set *set)
{
	const struct name_events **list AUTO_FREE = NULL;
	size_t count;

	assert_int_equal(event_set_list(set, &list, &count), 0);
	assert_int_equal(count, 1);
	return list[0]->events;
}

/* The events of all entries. */
static uint32_t all_events(const struct event_set *set)
{
	const struct name_events **list AUTO_FREE = NULL;
	uint32_t events = 0;
	size_t count;

	assert_int_equal(event_set_list(set, &list, &count), 0);
	for (size_t i = 0; i < count; i++)
		events |= list[i]->events;
	return events;
}

static void assert_entry(const struct name_events *entry, uint64_t dir, const char *name)
{
	assert_int_equal(entry->dir, dir);
	assert_int_equal(entry->length, strlen(name));
	assert_string_equal(entry->name, name);
}

static void test_new_set_is_empty(void **state)
{
	struct event_set set CLEANUP(event_set_reset) = {0};
	const struct name_events **list AUTO_FREE = NULL;
	size_t count = 1;

	(void)state;
	assert_int_equal(event_set_list(&set, &list, &count), 0);
	assert_int_equal(count, 0);
}

static void test_name_is_listed_once_with_all_events(void **state)
{
	struct event_set set CLEANUP(event_set_reset) = {0};

	(void)state;
	note(&set, 7, "name", EVENT_NAME);
	note(&set, 7, "name", EVENT_NAME);
	note(&set, 7, "name", EVENT_ATTRIBUTES);
	assert_int_equal(set.count, 1);
	assert_int_equal(only_events(&set), EVENT_NAME | EVENT_ATTRIBUTES);
}

static void test_write_after_a_close_clears_the_close(void **state)
{
	struct event_set set CLEANUP(event_set_reset) = {0};

	(void)state;
	note(&set, 1, "a", EVENT_WRITTEN);
	note(&set, 1, "a", EVENT_WRITTEN | EVENT_CLOSED);
	assert_int_equal(only_events(&set), EVENT_WRITTEN | EVENT_CLOSED);
	note(&set, 1, "a", EVENT_ATTRIBUTES);
	assert_int_equal(only_events(&set), EVENT_WRITTEN | EVENT_CLOSED | EVENT_ATTRIBUTES);
	note(&set, 1, "a", EVENT_WRITTEN);
	assert_int_equal(only_events(&set), EVENT_WRITTEN | EVENT_ATTRIBUTES);
	note(&set, 1, "a", EVENT_WRITTEN | EVENT_CLOSED);
	assert_int_equal(only_events(&set), EVENT_WRITTEN | EVENT_CLOSED | EVENT_ATTRIBUTES);
}

static void test_name_that_was_created_and_removed_or_replaced_is_marked(void **state)
{
	static const uint32_t came[] = {EVENT_CREATED, EVENT_MOVED_HERE, EVENT_MOVED_IN};
	static const uint32_t ended[] = {EVENT_REMOVED, EVENT_CREATED, EVENT_MOVED_HERE,
					 EVENT_MOVED_IN};
	static const uint32_t others[] = {EVENT_NAME, EVENT_WRITTEN, EVENT_ATTRIBUTES};
	struct event_set set CLEANUP(event_set_reset) = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(came); i++) {
		event_set_reset(&set);
		note(&set, 1, "a", EVENT_NAME | EVENT_REMOVED);
		note(&set, 1, "a", EVENT_NAME | came[i]);
		for (size_t n = 0; n < ARRAY_SIZE(others); n++)
			note(&set, 1, "a", others[n]);
		assert_int_equal(only_events(&set) & EVENT_REPLACED, 0);
		for (size_t n = 0; n < ARRAY_SIZE(ended); n++) {
			event_set_reset(&set);
			note(&set, 1, "a", EVENT_NAME | came[i]);
			note(&set, 1, "a", EVENT_NAME | ended[n]);
			assert_int_equal(only_events(&set) & EVENT_REPLACED, EVENT_REPLACED);
		}
	}
}

static void test_name_created_in_an_earlier_set_and_moved_here_is_replaced(void **state)
{
	struct event_set earlier CLEANUP(event_set_reset) = {0};
	struct event_set set CLEANUP(event_set_reset) = {0};

	(void)state;
	note(&earlier, 1, "a", EVENT_CREATED);
	note(&earlier, 2, "b", EVENT_CREATED);
	note(&earlier, 1, "c", EVENT_WRITTEN);
	note(&set, 1, "b", EVENT_MOVED_HERE);
	note(&set, 1, "c", EVENT_MOVED_HERE);
	event_set_note_replaced(&set, &earlier);
	assert_int_equal(all_events(&set), EVENT_MOVED_HERE);
	event_set_reset(&set);
	note(&set, 1, "a", EVENT_REMOVED);
	event_set_note_replaced(&set, &earlier);
	assert_int_equal(only_events(&set), EVENT_REMOVED);
	note(&set, 1, "a", EVENT_MOVED_HERE);
	assert_int_equal(only_events(&set), EVENT_REMOVED | EVENT_MOVED_HERE);
	event_set_note_replaced(&set, &earlier);
	assert_int_equal(only_events(&set), EVENT_REMOVED | EVENT_MOVED_HERE | EVENT_REPLACED);
}

static void note_again(struct event_set *set, const struct event_set *earlier)
{
	const struct name_events **list AUTO_FREE = NULL;
	size_t count;

	assert_int_equal(event_set_list(earlier, &list, &count), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(event_set_add_again(set, list[i]), 0);
}

static void test_name_added_again_is_not_replaced(void **state)
{
	static const uint32_t came[] = {EVENT_CREATED, EVENT_MOVED_HERE, EVENT_MOVED_IN};
	struct event_set earlier CLEANUP(event_set_reset) = {0};
	struct event_set inbox CLEANUP(event_set_reset) = {0};
	struct event_set set CLEANUP(event_set_reset) = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(came); i++) {
		event_set_reset(&earlier);
		event_set_reset(&set);
		note(&earlier, 1, "a", came[i]);
		for (int twice = 0; twice < 2; twice++) {
			note_again(&inbox, &earlier);
			note_again(&inbox, &earlier);
			assert_int_equal(event_set_merge(&set, &inbox), 0);
			event_set_note_replaced(&set, &earlier);
			assert_int_equal(only_events(&set), came[i]);
		}
	}
}

static void test_name_added_again_that_arrives_or_is_removed_is_replaced(void **state)
{
	static const uint32_t later[] = {EVENT_CREATED, EVENT_MOVED_HERE, EVENT_MOVED_IN,
					 EVENT_REMOVED};
	struct event_set earlier CLEANUP(event_set_reset) = {0};
	struct event_set queue CLEANUP(event_set_reset) = {0};
	struct event_set set CLEANUP(event_set_reset) = {0};

	(void)state;
	note(&earlier, 1, "a", EVENT_MOVED_HERE);
	for (size_t i = 0; i < ARRAY_SIZE(later); i++) {
		event_set_reset(&set);
		note_again(&set, &earlier);
		note(&queue, 1, "a", later[i]);
		assert_int_equal(event_set_merge(&set, &queue), 0);
		assert_int_equal(only_events(&set), EVENT_MOVED_HERE | later[i] | EVENT_REPLACED);
	}
	/* the arrival in this set replaced the earlier one, which is added again */
	event_set_reset(&set);
	note(&set, 1, "a", EVENT_CREATED);
	note_again(&set, &earlier);
	event_set_note_replaced(&set, &earlier);
	assert_int_equal(only_events(&set), EVENT_CREATED | EVENT_MOVED_HERE | EVENT_REPLACED);
}

static void test_list_has_each_directory_before_its_names(void **state)
{
	struct event_set set CLEANUP(event_set_reset) = {0};
	const struct name_events **list AUTO_FREE = NULL;
	size_t count;

	(void)state;
	note(&set, UINT64_MAX, "z", EVENT_NAME);
	note(&set, 2, "b", EVENT_NAME);
	note(&set, 2, "\xff", EVENT_NAME);
	note(&set, 2, "bb", EVENT_NAME);
	note(&set, 2, NULL, EVENT_LISTING);
	note(&set, 1, "c", EVENT_NAME);
	assert_int_equal(event_set_list(&set, &list, &count), 0);
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
	struct event_set set CLEANUP(event_set_reset) = {0};
	const struct name_events **list AUTO_FREE = NULL;
	char *name AUTO_FREE = malloc(5000);
	size_t count;

	(void)state;
	assert_non_null(name);
	memset(name, '\n', 5000);
	assert_int_equal(event_set_add(&set, 1, name, 5000, EVENT_NAME), 0);
	assert_int_equal(event_set_add(&set, 1, name, 4999, EVENT_NAME), 0);
	assert_int_equal(event_set_list(&set, &list, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(list[1]->length, 5000);
	assert_memory_equal(list[1]->name, name, 5000);
}

static void test_merged_sets_equal_the_events_in_that_order(void **state)
{
	struct event_set set CLEANUP(event_set_reset) = {0}, later CLEANUP(event_set_reset) = {0};
	size_t bytes;

	(void)state;
	note(&later, 1, "a", EVENT_WRITTEN | EVENT_CLOSED);
	later.overflowed = 4;
	bytes = later.bytes;
	assert_int_equal(event_set_merge(&set, &later), 0);
	assert_int_equal(later.count + later.bytes + later.overflowed, 0);
	assert_int_equal(set.overflowed, 4);
	assert_int_equal(set.bytes, bytes);
	assert_int_equal(only_events(&set), EVENT_WRITTEN | EVENT_CLOSED);

	note(&later, 1, "a", EVENT_WRITTEN);
	later.overflowed = 1;
	assert_int_equal(event_set_merge(&set, &later), 0);
	assert_int_equal(later.count + later.bytes + later.overflowed, 0);
	assert_int_equal(set.overflowed, 5);
	assert_int_equal(set.bytes, bytes);
	assert_int_equal(only_events(&set), EVENT_WRITTEN);

	note(&later, 1, "b", EVENT_NAME);
	assert_int_equal(event_set_merge(&set, &later), 0);
	assert_int_equal(set.count, 2);
	assert_int_equal(event_set_merge(&set, &later), 0);
	assert_int_equal(set.count, 2);
}

static void test_writes_do_not_concern_names(void **state)
{
	const uint32_t names[] = {EVENT_NAME,    EVENT_MOVED_IN, EVENT_MOVED_HERE, EVENT_CREATED,
				  EVENT_REMOVED, EVENT_NEW_DIR,  EVENT_LISTING,    EVENT_TREE};
	struct event_set set CLEANUP(event_set_reset) = {0};

	(void)state;
	assert_false(event_set_has_names(&set));
	note(&set, 1, "a", EVENT_WRITTEN);
	note(&set, 1, "b", EVENT_WRITTEN | EVENT_CLOSED);
	note(&set, 2, "a", EVENT_ATTRIBUTES);
	assert_false(event_set_has_names(&set));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct event_set one CLEANUP(event_set_reset) = {0};

		note(&one, 1, "a", names[i] | EVENT_WRITTEN);
		assert_true(event_set_has_names(&one));
	}
	note(&set, 1, "b", EVENT_REMOVED);
	assert_true(event_set_has_names(&set));
}

static void test_many_names_are_added_and_reset(void **state)
{
	struct event_set set CLEANUP(event_set_reset) = {0};
	const struct name_events **list AUTO_FREE = NULL;
	char name[16];
	size_t count;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		(void)snprintf(name, sizeof(name), "%06d", i / 2);
		note(&set, 1 + (uint64_t)i % 3, name, EVENT_NAME);
	}
	assert_int_equal(event_set_list(&set, &list, &count), 0);
	assert_int_equal(count, set.count);
	assert_int_equal(count, 200000);
	for (size_t i = 1; i < count; i++)
		assert_true(list[i - 1]->dir < list[i]->dir ||
			    strcmp(list[i - 1]->name, list[i]->name) < 0);
	assert_true(set.bytes > count * 20);
	event_set_reset(&set);
	assert_int_equal(set.count + set.bytes, 0);
	note(&set, 1, "again", EVENT_NAME);
	assert_int_equal(only_events(&set), EVENT_NAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_set_is_empty),
		cmocka_unit_test(test_name_is_listed_once_with_all_events),
		cmocka_unit_test(test_name_that_was_created_and_removed_or_replaced_is_marked),
		cmocka_unit_test(test_name_created_in_an_earlier_set_and_moved_here_is_replaced),
		cmocka_unit_test(test_write_after_a_close_clears_the_close),
		cmocka_unit_test(test_name_added_again_is_not_replaced),
		cmocka_unit_test(test_name_added_again_that_arrives_or_is_removed_is_replaced),
		cmocka_unit_test(test_list_has_each_directory_before_its_names),
		cmocka_unit_test(test_names_of_any_bytes_and_length_are_kept),
		cmocka_unit_test(test_merged_sets_equal_the_events_in_that_order),
		cmocka_unit_test(test_writes_do_not_concern_names),
		cmocka_unit_test(test_many_names_are_added_and_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
