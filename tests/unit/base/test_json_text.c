/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/json_text.h"
#include "unit_test.h"

static void test_text_is_appended(void **state)
{
	json_t *object = json_pack("{s:i, s:s}", "a", 1, "b", "\xc3\xa9\n");
	struct bytes text = {0};

	(void)state;
	assert_non_null(object);
	assert_int_equal(bytes_append_text(&text, "before "), 0);
	assert_int_equal(json_append(&text, object, JSON_COMPACT), 0);
	assert_string_equal(bytes_text(&text), "before {\"a\":1,\"b\":\"\xc3\xa9\\n\"}");
	bytes_free(&text);
	json_decref(object);
}

static void test_value_that_is_no_document_appends_nothing(void **state)
{
	json_t *number = json_integer(1);
	struct bytes text = {0};

	(void)state;
	assert_non_null(number);
	assert_int_equal(bytes_append_text(&text, "before"), 0);
	assert_int_equal(json_append(&text, number, JSON_COMPACT), -ENOMEM);
	assert_string_equal(bytes_text(&text), "before");
	bytes_free(&text);
	json_decref(number);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_is_appended),
		cmocka_unit_test(test_value_that_is_no_document_appends_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
