/* SPDX-License-Identifier: MIT */

#include "base/bytes.h"
#include "unit_test.h"
#include "view/tree/caches.h"

static const struct number_key key = {.caller = 1, .hash = {2, 3}, .generation = 4};

/* Returns the ordinals of a numbering of count groups: 10, 20 ... */
static struct bytes numbering(uint32_t count)
{
	struct bytes ordinals = {0};

	for (uint32_t i = 1; i <= count; i++) {
		uint32_t ordinal = i * 10;

		assert_int_equal(bytes_append(&ordinals, &ordinal, sizeof(ordinal)), 0);
	}
	return ordinals;
}

static void put(struct known_numbers *numbers, const struct number_key *of, uint32_t count)
{
	struct bytes ordinals = numbering(count);

	known_numbers_put(numbers, of, &ordinals, 1000, 1100);
	assert_null(ordinals.data);
}

static int set_up(void **state)
{
	static struct known_numbers numbers;

	known_numbers_init(&numbers);
	*state = &numbers;
	return 0;
}

static int tear_down(void **state)
{
	known_numbers_deinit(*state);
	return 0;
}

static void test_number_of_a_group_is_the_position_of_its_ordinal(void **state)
{
	struct bytes ordinals = numbering(1000);

	(void)state;
	for (uint32_t i = 0; i <= 10011; i++) {
		struct numbered by_ordinal = {.ordinal = i};
		bool exists = i > 0 && i % 10 == 0 && i <= 10000;

		assert_int_equal(numbered_find(&ordinals, &by_ordinal), exists);
		assert_int_equal(by_ordinal.number, exists ? i / 10 : 0);
	}
	for (uint32_t i = 1; i <= 1001; i++) {
		struct numbered by_number = {.number = i};

		assert_int_equal(numbered_find(&ordinals, &by_number), i <= 1000);
		assert_int_equal(by_number.ordinal, i <= 1000 ? i * 10 : 0);
	}
	bytes_free(&ordinals);
}

static void test_numbering_expires_after_twenty_times_its_cost(void **state)
{
	struct numbered group = {.number = 2};

	assert_false(known_numbers_get(*state, &key, &group, 0));
	put(*state, &key, 3);
	assert_true(known_numbers_get(*state, &key, &group, 1100 + 20 * 100 - 1));
	assert_int_equal(group.ordinal, 20);
	assert_false(known_numbers_get(*state, &key, &group, 1100 + 20 * 100));
}

static void test_numbering_is_valid_for_one_caller_and_hash_until_the_next_commit(void **state)
{
	const struct number_key others[] = {
		{.caller = 7, .hash = {2, 3}, .generation = 4},
		{.caller = 1, .hash = {7, 3}, .generation = 4},
		{.caller = 1, .hash = {2, 7}, .generation = 4},
		{.caller = 1, .hash = {2, 3}, .generation = 5},
	};
	struct numbered group = {.ordinal = 30};

	put(*state, &key, 3);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(known_numbers_get(*state, &others[i], &group, 1100));
	assert_true(known_numbers_get(*state, &key, &group, 1100));
	assert_int_equal(group.number, 3);
}

static void test_group_outside_of_the_numbering_has_no_number(void **state)
{
	struct numbered group = {.ordinal = 31};

	put(*state, &key, 3);
	assert_true(known_numbers_get(*state, &key, &group, 1100));
	assert_int_equal(group.number, 0);
}

static void test_empty_numbering_is_cached(void **state)
{
	struct numbered group = {.number = 1};

	put(*state, &key, 0);
	assert_true(known_numbers_get(*state, &key, &group, 1100));
	assert_int_equal(group.ordinal, 0);
}

static void test_numberings_beyond_the_limit_are_discarded(void **state)
{
	struct known_numbers *numbers = *state;
	struct numbered group = {.number = 1};
	struct number_key next = key;

	for (next.caller = 1; next.caller <= 20; next.caller++) {
		put(numbers, &next, (uint32_t)(KNOWN_NUMBERS_GROUPS_MAX / 4));
		assert_true(numbers->groups <= KNOWN_NUMBERS_GROUPS_MAX);
		assert_true(known_numbers_get(numbers, &next, &group, 1100));
	}
	put(numbers, &next, (uint32_t)KNOWN_NUMBERS_GROUPS_MAX + 1);
	assert_false(known_numbers_get(numbers, &next, &group, 1100));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_number_of_a_group_is_the_position_of_its_ordinal),
		CASE(test_numbering_expires_after_twenty_times_its_cost),
		CASE(test_numbering_is_valid_for_one_caller_and_hash_until_the_next_commit),
		CASE(test_group_outside_of_the_numbering_has_no_number),
		CASE(test_empty_numbering_is_cached),
		CASE(test_numberings_beyond_the_limit_are_discarded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
