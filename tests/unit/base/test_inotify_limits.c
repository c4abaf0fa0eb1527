/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/inotify_use.h"
#include "unit_test.h"

static void test_raised_limit_includes_the_missing_watches(void **state)
{
	(void)state;
	assert_int_equal(inotify_raised(8192, 1), 65536);
	assert_int_equal(inotify_raised(65536, 0), 65536);
	assert_int_equal(inotify_raised(65536, 1), 131072);
	assert_int_equal(inotify_raised(100000, 200000), 524288);
	assert_int_equal(inotify_raised(UINT64_MAX, 70000), 262144);
}

static void test_limits_have_the_name_of_their_setting(void **state)
{
	struct inotify_limit watches = inotify_watches_max();
	struct inotify_limit instances = inotify_instances_max();

	(void)state;
	assert_true(watches.max > 0 && instances.max > 0);
	assert_true(strcmp(watches.setting, "fs.inotify.max_user_watches") == 0 ||
		    strcmp(watches.setting, "user.max_inotify_watches") == 0);
	assert_true(strcmp(instances.setting, "fs.inotify.max_user_instances") == 0 ||
		    strcmp(instances.setting, "user.max_inotify_instances") == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_raised_limit_includes_the_missing_watches),
		cmocka_unit_test(test_limits_have_the_name_of_their_setting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
