/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "mount/open_quota.h"
#include "unit_test.h"

#define PART ((size_t)1024)

/* Opens as many files as the user can. Returns the count. */
static size_t open_all(struct open_quotas *shares, uid_t uid, struct open_quota **share)
{
	size_t count = 0;
	int r;

	while ((r = open_quotas_take(shares, &uid, share)) == 0)
		count++;
	assert_int_equal(r, -EMFILE);
	assert_null(*share);
	return count;
}

static void test_each_user_gets_half_of_what_is_left(void **state)
{
	struct open_quotas shares;
	struct open_quota *share;
	struct open_quota *held[PART];
	uid_t uid = 1;

	(void)state;
	open_quotas_init(&shares);
	shares.most = PART;
	for (size_t i = 0; i < PART / 2; i++)
		assert_int_equal(open_quotas_take(&shares, &uid, &held[i]), 0);
	assert_int_equal(open_all(&shares, uid, &share), 0);
	/* two users in one bucket */
	for (size_t i = PART / 2; i < PART / 2 + PART / 4; i++) {
		uid = 1 + OPEN_QUOTAS_BUCKETS;
		assert_int_equal(open_quotas_take(&shares, &uid, &held[i]), 0);
	}
	assert_int_equal(open_all(&shares, uid, &share), 0);
	for (size_t i = 0; i < PART / 2 + PART / 4; i++)
		open_quotas_return(&shares, held[i]);
	assert_int_equal(shares.taken, 0);
	for (size_t i = 0; i < OPEN_QUOTAS_BUCKETS; i++)
		assert_null(shares.buckets[i]);
}

static void test_root_has_no_limit_and_its_files_count_for_others(void **state)
{
	struct open_quotas shares;
	struct open_quota *share;

	(void)state;
	open_quotas_init(&shares);
	shares.most = PART;
	for (size_t i = 0; i < 2 * PART; i++) {
		assert_int_equal(open_quotas_take(&shares, NULL, &share), 0);
		assert_null(share);
	}
	assert_int_equal(open_all(&shares, 1, &share), 0);
	for (size_t i = 0; i < 2 * PART; i++)
		open_quotas_return(&shares, NULL);
	assert_int_equal(shares.taken, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_user_gets_half_of_what_is_left),
		cmocka_unit_test(test_root_has_no_limit_and_its_files_count_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
