/* SPDX-License-Identifier: MIT */
#include "unit_test.h"
#include "view/fuse/kernel_cache.h"

static void test_process_that_only_lists_gets_attributes_of_its_first_listings(void **state)
{
	struct listing_habits habits = {0};

	(void)state;
	for (int i = 0; i < LISTINGS_TRIED; i++) {
		assert_int_equal(listing_habits_choose(&habits, 7, true), LISTING_OF_ALL);
		assert_int_equal(listing_habits_choose(&habits, 7, false), LISTING_OF_DIRECTORIES);
	}
	assert_int_equal(listing_habits_choose(&habits, 7, true), LISTING_OF_DIRECTORIES);
	assert_int_equal(listing_habits_choose(&habits, 8, true), LISTING_OF_ALL);
}

static void test_process_that_uses_files_gets_all_attributes(void **state)
{
	struct listing_habits habits = {0};

	(void)state;
	while (listing_habits_choose(&habits, 7, true) == LISTING_OF_ALL)
		;
	listing_habits_note_use(&habits, 7);
	for (int i = 0; i < 2 * LISTINGS_TRIED; i++) {
		assert_int_equal(listing_habits_choose(&habits, 7, true), LISTING_OF_ALL);
		assert_int_equal(listing_habits_choose(&habits, 7, false), LISTING_OF_ALL);
	}
}

static void test_habit_of_another_process_in_the_slot_is_not_used(void **state)
{
	struct listing_habits habits = {0};
	const pid_t other = 7 + LISTING_HABIT_SLOTS;

	(void)state;
	listing_habits_note_use(&habits, 7);
	assert_int_equal(listing_habits_choose(&habits, other, false), LISTING_OF_DIRECTORIES);
	assert_int_equal(listing_habits_choose(&habits, other, true), LISTING_OF_ALL);
	assert_int_equal(listing_habits_choose(&habits, 7, false), LISTING_OF_DIRECTORIES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_process_that_only_lists_gets_attributes_of_its_first_listings),
		cmocka_unit_test(test_process_that_uses_files_gets_all_attributes),
		cmocka_unit_test(test_habit_of_another_process_in_the_slot_is_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
