/* SPDX-License-Identifier: MIT */

#include "unit_test.h"
#include "view/tree/caches.h"

static const struct visible_key key = {.caller = 1, .group = 2, .changed = {3, 4}};

static int set_up(void **state)
{
	static struct visible_cache visible_cache;
	const struct visible_copies visible = {.inodes = 5, .kept = 6};

	visible_cache_init(&visible_cache);
	visible_cache_put(&visible_cache, &key, &visible, 1000, 1100);
	*state = &visible_cache;
	return 0;
}

static int tear_down(void **state)
{
	visible_cache_deinit(*state);
	return 0;
}

static void test_new_cache_is_empty(void **state)
{
	struct visible_cache visible_cache;
	struct visible_copies visible;

	(void)state;
	visible_cache_init(&visible_cache);
	assert_false(visible_cache_get(&visible_cache, &key, &visible, 0));
	visible_cache_deinit(&visible_cache);
}

static void test_entry_expires_after_twenty_times_its_cost(void **state)
{
	struct visible_copies visible;

	assert_true(visible_cache_get(*state, &key, &visible, 1100));
	assert_int_equal(visible.inodes, 5);
	assert_int_equal(visible.kept, 6);
	assert_true(visible_cache_get(*state, &key, &visible, 1100 + 20 * 100 - 1));
	assert_false(visible_cache_get(*state, &key, &visible, 1100 + 20 * 100));
}

static void test_entry_is_valid_for_one_caller_and_version_of_a_group(void **state)
{
	const struct visible_key others[] = {
		{.caller = 7, .group = 2, .changed = {3, 4}},
		{.caller = 1, .group = 7, .changed = {3, 4}},
		{.caller = 1, .group = 2, .changed = {7, 4}},
		{.caller = 1, .group = 2, .changed = {3, 7}},
	};
	struct visible_copies visible;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(visible_cache_get(*state, &others[i], &visible, 1100));
}

static void test_later_entry_replaces_the_earlier(void **state)
{
	const struct visible_copies later = {.inodes = 2, .kept = 9};
	struct visible_copies visible;

	visible_cache_put(*state, &key, &later, 5000, 5001);
	assert_true(visible_cache_get(*state, &key, &visible, 5002));
	assert_int_equal(visible.inodes, 2);
	assert_int_equal(visible.kept, 9);
}

static void test_entry_beyond_the_limit_replaces_others(void **state)
{
	const struct visible_copies other = {.inodes = 2, .kept = 9};
	struct visible_key next = key;
	struct visible_copies visible;
	size_t cached = 0;

	for (next.group = 100; next.group < 100 + 8 * VISIBLE_CACHE_MAX; next.group++)
		visible_cache_put(*state, &next, &other, 0, 1000);
	for (next.group = 100; next.group < 100 + 8 * VISIBLE_CACHE_MAX; next.group++)
		cached += visible_cache_get(*state, &next, &visible, 1000);
	assert_in_range(cached, VISIBLE_CACHE_MAX / 2, VISIBLE_CACHE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_cache_is_empty),
		cmocka_unit_test_setup_teardown(test_entry_expires_after_twenty_times_its_cost,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_entry_is_valid_for_one_caller_and_version_of_a_group, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_later_entry_replaces_the_earlier, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_entry_beyond_the_limit_replaces_others, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
