/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>

#include "base/log.h"
#include "unit_test.h"

static void test_error_of_either_sign_has_words_and_a_name(void **state)
{
	(void)state;
	assert_string_equal(error_text(EACCES), "Permission denied");
	assert_string_equal(error_text(-EACCES), "Permission denied");
	assert_string_equal(error_name(ENOSPC), "ENOSPC");
	assert_string_equal(error_name(-ENOSPC), "ENOSPC");
}

static void test_unknown_error_number_has_words_and_a_name(void **state)
{
	static const int numbers[] = {-4095, 100000, INT_MAX, INT_MIN};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_string_equal(error_text(numbers[i]), "Unknown error");
		assert_string_equal(error_name(numbers[i]), "EUNKNOWN");
	}
}

static void test_errno_is_kept(void **state)
{
	(void)state;
	errno = EBUSY;
	(void)error_text(-ENOENT);
	(void)error_name(123456);
	assert_int_equal(errno, EBUSY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error_of_either_sign_has_words_and_a_name),
		cmocka_unit_test(test_unknown_error_number_has_words_and_a_name),
		cmocka_unit_test(test_errno_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
