/* SPDX-License-Identifier: MIT */
#include "cli/counted.h"
#include "unit_test.h"

static void test_count_has_the_form_of_its_words(void **state)
{
	(void)state;
	assert_string_equal(counted(0, "file is", "files are").text, "0 files are");
	assert_string_equal(counted(1, "file is", "files are").text, "1 file is");
	assert_string_equal(counted(UINT64_MAX, "file", "files").text,
			    "18,446,744,073,709,551,615 files");
	assert_string_equal(number_text(1000).text, "1,000");
	assert_string_equal(size_text(999).text, "999 B");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count_has_the_form_of_its_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
