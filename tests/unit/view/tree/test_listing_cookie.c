/* SPDX-License-Identifier: MIT */

#include "base/attributes.h"
#include "twinfs/format.h"
#include "unit_test.h"
#include "view/tree/node.h"
#include "view/tree/view.h"

static const uint64_t secrets[] = {0, 1, UINT64_MAX, 0x123456789abcdef0};

static void test_cookie_of_any_id_is_decoded_to_it(void **state)
{
	(void)state;
	for (size_t s = 0; s < ARRAY_SIZE(secrets); s++) {
		for (uint64_t i = 0; i < 20000; i++) {
			uint64_t id = i % 2 ? i + 1 : TWINFS_ID_MAX - i * i;
			uint64_t cookie = listing_cookie(secrets[s], id);

			assert_in_range(cookie, VIEW_COOKIE_MIN, INT64_MAX);
			assert_true(listing_id(secrets[s], cookie) == id);
		}
	}
}

static void test_number_that_is_no_cookie_has_no_id(void **state)
{
	size_t ids = 0;

	(void)state;
	for (uint64_t cookie = 0; cookie < VIEW_COOKIE_MIN; cookie++)
		assert_int_equal(listing_id(1, cookie), 0);
	for (uint64_t i = 0; i < 20000; i++)
		ids += listing_id(1, VIEW_COOKIE_MIN + i) <= TWINFS_ID_MAX;
	/* of 2^62 numbers, 2^48 are cookies */
	assert_in_range(ids, 0, 20);
	assert_true(listing_id(1, INT64_MAX) > TWINFS_ID_MAX);
	assert_true(listing_id(1, UINT64_MAX) > TWINFS_ID_MAX);
}

static void test_cookies_do_not_reveal_the_distance_of_ids(void **state)
{
	uint64_t ascending = 0, near = 0;

	(void)state;
	for (uint64_t id = 1; id < 10000; id++) {
		uint64_t a = listing_cookie(secrets[3], id), b = listing_cookie(secrets[3], id + 1);

		ascending += a < b;
		near += (a < b ? b - a : a - b) < UINT64_C(1) << 48;
		assert_true(listing_cookie(secrets[0], id) != a);
	}
	assert_in_range(ascending, 4000, 6000);
	assert_in_range(near, 0, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cookie_of_any_id_is_decoded_to_it),
		cmocka_unit_test(test_number_that_is_no_cookie_has_no_id),
		cmocka_unit_test(test_cookies_do_not_reveal_the_distance_of_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
