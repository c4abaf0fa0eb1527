/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mountinfo.h"

static void assert_decoded(const char *written, const char *meant)
{
	char word[64];

	(void)snprintf(word, sizeof(word), "%s", written);
	mountinfo_decode(word);
	assert_string_equal(word, meant);
}

static void test_octal_escapes_are_decoded(void **state)
{
	(void)state;
	assert_decoded("", "");
	assert_decoded("/a\\040b\\011c\\012d\\134e\\377", "/a b\tc\nd\\e\xff");
	assert_decoded("\\134040", "\\040"); /* once */
}

static void test_what_is_no_escape_stays(void **state)
{
	(void)state;
	assert_decoded("\\", "\\");
	assert_decoded("\\0", "\\0");
	assert_decoded("a\\04", "a\\04");
	assert_decoded("\\ 40\\4 0\\089", "\\ 40\\4 0\\089");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_octal_escapes_are_decoded),
		cmocka_unit_test(test_what_is_no_escape_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
