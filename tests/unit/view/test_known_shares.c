/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "view/known_shares.h"

static const struct share_key key = {.caller = 1, .group = 2, .changed = {3, 4}};

static int set_up(void **state)
{
	static struct known_shares shares;
	const struct share share = {.inodes = 5, .kept = 6};

	known_shares_init(&shares);
	known_shares_put(&shares, &key, &share, 1000, 1100);
	*state = &shares;
	return 0;
}

static int tear_down(void **state)
{
	known_shares_deinit(*state);
	return 0;
}

static void test_nothing_is_known_at_first(void **state)
{
	struct known_shares shares;
	struct share share;

	(void)state;
	known_shares_init(&shares);
	assert_false(known_shares_get(&shares, &key, &share, 0));
	known_shares_deinit(&shares);
}

static void test_share_is_believed_twenty_times_as_long_as_it_took(void **state)
{
	struct share share;

	assert_true(known_shares_get(*state, &key, &share, 1100));
	assert_int_equal(share.inodes, 5);
	assert_int_equal(share.kept, 6);
	assert_true(known_shares_get(*state, &key, &share, 1100 + 20 * 100 - 1));
	assert_false(known_shares_get(*state, &key, &share, 1100 + 20 * 100));
}

static void test_share_is_that_of_one_caller_in_one_group_while_it_stays(void **state)
{
	const struct share_key others[] = {
		{.caller = 7, .group = 2, .changed = {3, 4}},
		{.caller = 1, .group = 7, .changed = {3, 4}},
		{.caller = 1, .group = 2, .changed = {7, 4}},
		{.caller = 1, .group = 2, .changed = {3, 7}},
	};
	struct share share;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(known_shares_get(*state, &others[i], &share, 1100));
}

static void test_later_share_takes_the_place_of_the_former(void **state)
{
	const struct share later = {.inodes = 2, .kept = 9};
	struct share share;

	known_shares_put(*state, &key, &later, 5000, 5001);
	assert_true(known_shares_get(*state, &key, &share, 5002));
	assert_int_equal(share.inodes, 2);
	assert_int_equal(share.kept, 9);
}

static void test_no_more_than_so_many_are_remembered(void **state)
{
	const struct share other = {.inodes = 2, .kept = 9};
	struct share_key next = key;
	struct share share;
	size_t known = 0;

	for (next.group = 100; next.group < 100 + 8 * KNOWN_SHARES_MAX; next.group++)
		known_shares_put(*state, &next, &other, 0, 1000);
	for (next.group = 100; next.group < 100 + 8 * KNOWN_SHARES_MAX; next.group++)
		known += known_shares_get(*state, &next, &share, 1000);
	assert_in_range(known, KNOWN_SHARES_MAX / 2, KNOWN_SHARES_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_known_at_first),
		cmocka_unit_test_setup_teardown(
			test_share_is_believed_twenty_times_as_long_as_it_took, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_share_is_that_of_one_caller_in_one_group_while_it_stays, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_later_share_takes_the_place_of_the_former,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_more_than_so_many_are_remembered, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
