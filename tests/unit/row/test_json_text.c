/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "row/json_text.h"
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

static void test_number_of_64_bits_returns(void **state)
{
	static const uint64_t numbers[] = {0, 0xff, UINT64_MAX};
	uint64_t found;

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		json_t *object = json_pack("{s:o}", "a", json_hex64(numbers[i]));

		assert_true(json_get_hex64(object, "a", &found));
		assert_int_equal(found, numbers[i]);
		assert_false(json_get_hex64(object, "b", &found));
		json_decref(object);
	}
}

static void test_other_forms_of_a_number_of_64_bits_are_refused(void **state)
{
	static const char *const texts[] = {"",
					    "ff",
					    "00000000000000FF",
					    "0x000000000000ff",
					    "00000000000000ff0",
					    " 0000000000000ff"};
	uint64_t found;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		json_t *object = json_pack("{s:s}", "a", texts[i]);

		assert_false(json_get_hex64(object, "a", &found));
		json_decref(object);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_is_appended),
		cmocka_unit_test(test_value_that_is_no_document_appends_nothing),
		cmocka_unit_test(test_number_of_64_bits_returns),
		cmocka_unit_test(test_other_forms_of_a_number_of_64_bits_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
