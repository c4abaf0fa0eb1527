/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit_test.h"
#include "view/fuse/features.h"

static const struct features all_present = {
	.library_passthrough = true,
	.library_io_uring = true,
	.kernel_passthrough = true,
	.kernel_io_uring = FEATURE_ON,
	.privileged = true,
	.can_open_backing = true,
	.wants_passthrough = true,
	.wants_io_uring = true,
};

static size_t advise(const struct features *facts, const char *advice[FEATURE_ADVICE_MAX])
{
	size_t count = 0;

	features_advise(facts, advice);
	while (advice[count])
		count++;
	assert_true(count < FEATURE_ADVICE_MAX);
	return count;
}

static void test_nothing_is_advised_if_all_features_are_present(void **state)
{
	const char *advice[FEATURE_ADVICE_MAX];

	(void)state;
	assert_int_equal(features_backing(&all_present), BACKING_ALL);
	assert_null(features_no_passthrough(&all_present));
	assert_null(features_no_io_uring(&all_present));
	assert_int_equal(advise(&all_present, advice), 0);
}

static void test_unrequested_passthrough_is_limited_to_sealed_files(void **state)
{
	struct features facts = all_present;
	const char *advice[FEATURE_ADVICE_MAX];

	(void)state;
	facts.wants_passthrough = false;
	assert_int_equal(features_backing(&facts), BACKING_SEALED);
	assert_int_equal(advise(&facts, advice), 1);
	assert_non_null(strstr(advice[0], "-o passthrough"));
	facts.can_open_backing = false;
	assert_int_equal(features_backing(&facts), BACKING_NONE);
}

static void test_versions_of_the_kernel_are_compared_as_numbers(void **state)
{
	(void)state;
	assert_true(features_kernel_is("6.9.0-1-amd64", 6, 9));
	assert_true(features_kernel_is("6.10", 6, 9));
	assert_true(features_kernel_is("10.1", 6, 9));
	assert_false(features_kernel_is("6.1.0-37-amd64", 6, 9));
	assert_false(features_kernel_is("5.15", 6, 9));
	assert_false(features_kernel_is("odd", 6, 9));
}

static void test_missing_feature_is_named(void **state)
{
	const char *advice[FEATURE_ADVICE_MAX];

	(void)state;
	for (int missing = 0; missing < 6; missing++) {
		static const char *const words[] = {"-Dfuse=newer", "6.9",          "root",
						    "6.14",         "enable_uring", "liburing"};
		bool followed = missing != 2; /* a user cannot become root */
		struct features facts = all_present;
		const char *reason;

		switch (missing) {
		case 0:
			facts.library_passthrough = facts.library_io_uring = false;
			break;
		case 1:
			facts.kernel_passthrough = false;
			break;
		case 2:
			facts.privileged = false;
			break;
		case 5: /* libfuse 3.17, or one without liburing */
			facts.library_io_uring = false;
			break;
		default:
			facts.kernel_io_uring = missing == 3 ? FEATURE_MISSING : FEATURE_OFF;
			break;
		}
		reason = missing < 3 ? features_no_passthrough(&facts)
				     : features_no_io_uring(&facts);
		assert_non_null(reason);
		assert_non_null(strstr(reason, words[missing]));
		if (missing < 3)
			assert_int_equal(features_backing(&facts), BACKING_NONE);
		assert_int_equal(advise(&facts, advice), followed);
		assert_true(!followed || strstr(advice[0], words[missing]));
		assert_true(facts.library_io_uring || strstr(advice[0], "-Dfuse=newer"));
	}
}

static void test_user_gets_only_advice_that_needs_no_root(void **state)
{
	struct features facts = {.kernel_io_uring = FEATURE_MISSING};
	const char *advice[FEATURE_ADVICE_MAX];

	(void)state;
	assert_int_equal(advise(&facts, advice), 0);
	facts.kernel_io_uring = FEATURE_OFF;
	assert_int_equal(advise(&facts, advice), 0);
	facts.kernel_io_uring = FEATURE_ON;
	assert_int_equal(advise(&facts, advice), 1);
	assert_non_null(strstr(advice[0], "-Dfuse=newer"));
	facts.library_passthrough = facts.library_io_uring = true;
	assert_int_equal(advise(&facts, advice), 1);
	assert_string_equal(advice[0], "mount with -o io_uring");
}

static void test_writable_file_is_not_sealed(void **state)
{
	char path[] = "/tmp/twinfs-test-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	assert_false(backing_is_sealed(fd));
	assert_int_equal(close(fd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_advised_if_all_features_are_present),
		cmocka_unit_test(test_unrequested_passthrough_is_limited_to_sealed_files),
		cmocka_unit_test(test_versions_of_the_kernel_are_compared_as_numbers),
		cmocka_unit_test(test_missing_feature_is_named),
		cmocka_unit_test(test_user_gets_only_advice_that_needs_no_root),
		cmocka_unit_test(test_writable_file_is_not_sealed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
