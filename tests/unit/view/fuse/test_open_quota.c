/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "unit_test.h"
#include "view/fuse/handle.h"

#define PART ((size_t)1024)

/* Takes quota for as many files as the user can open. Returns their number. */
static size_t open_all(struct open_quotas *quotas, uid_t uid, struct open_quota **quota)
{
	size_t count = 0;
	int r;

	while ((r = open_quotas_take(quotas, &uid, quota)) == 0)
		count++;
	assert_int_equal(r, -EMFILE);
	assert_null(*quota);
	return count;
}

static void test_user_gets_at_most_half_of_the_free_quota(void **state)
{
	struct open_quotas quotas;
	struct open_quota *quota;
	struct open_quota *held[PART];
	uid_t uid = 1;

	(void)state;
	open_quotas_init(&quotas);
	quotas.most = PART;
	for (size_t i = 0; i < PART / 2; i++)
		assert_int_equal(open_quotas_take(&quotas, &uid, &held[i]), 0);
	assert_int_equal(open_all(&quotas, uid, &quota), 0);
	/* two users in one bucket */
	for (size_t i = PART / 2; i < PART / 2 + PART / 4; i++) {
		uid = 1 + OPEN_QUOTAS_BUCKETS;
		assert_int_equal(open_quotas_take(&quotas, &uid, &held[i]), 0);
	}
	assert_int_equal(open_all(&quotas, uid, &quota), 0);
	for (size_t i = 0; i < PART / 2 + PART / 4; i++)
		open_quotas_return(&quotas, held[i]);
	assert_int_equal(quotas.taken, 0);
	for (size_t i = 0; i < OPEN_QUOTAS_BUCKETS; i++)
		assert_null(quotas.buckets[i]);
}

static void test_root_has_no_limit_and_its_files_count_for_others(void **state)
{
	struct open_quotas quotas;
	struct open_quota *quota;

	(void)state;
	open_quotas_init(&quotas);
	quotas.most = PART;
	for (size_t i = 0; i < 2 * PART; i++) {
		assert_int_equal(open_quotas_take(&quotas, NULL, &quota), 0);
		assert_null(quota);
	}
	assert_int_equal(open_all(&quotas, 1, &quota), 0);
	for (size_t i = 0; i < 2 * PART; i++)
		open_quotas_return(&quotas, NULL);
	assert_int_equal(quotas.taken, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_user_gets_at_most_half_of_the_free_quota),
		cmocka_unit_test(test_root_has_no_limit_and_its_files_count_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
