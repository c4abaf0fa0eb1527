/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "row/json_path.h"
#include "unit_test.h"

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void test_path_in_utf8_is_one_member(void **state)
{
	json_auto_t *object = json_object();

	(void)state;
	assert_int_equal(json_set_path(object, "path", "/Grüße\n", strlen("/Grüße\n")), 0);
	assert_string_equal(text_of(object, "path"), "/Grüße\n");
	assert_int_equal(json_object_size(object), 1);
}

static void check_base64(const char *path, size_t length, const char *readable,
			 const char *expected)
{
	json_auto_t *object = json_object();

	assert_int_equal(json_set_path(object, "tree", path, length), 0);
	assert_string_equal(text_of(object, "tree"), readable);
	assert_string_equal(text_of(object, "tree_base64"), expected);
}

static void test_path_that_is_not_utf8_is_also_in_base64(void **state)
{
	(void)state;
	check_base64("\xff", 1, "\\xff", "/w==");
	check_base64("a\xfe", 2, "a\\xfe", "Yf4=");
	check_base64("\xe2\x88x", 3, "\\xe2\\x88x", "4oh4");
	check_base64("/a\xff"
		     "b",
		     4, "/a\\xffb", "L2H/Yg==");
}

static void test_path_that_was_set_is_read_back(void **state)
{
	char path[256];

	(void)state;
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = (char)(255 - i);
	for (size_t length = 0; length < sizeof(path); length++) {
		json_auto_t *object = json_object();
		struct bytes read CLEANUP_BYTES = {0};

		assert_int_equal(json_set_path(object, "path", path, length), 0);
		assert_int_equal(json_get_path(object, "path", &read), 0);
		assert_int_equal(read.length, length);
		if (length > 0)
			assert_memory_equal(read.data, path, length);
	}
}

static void check_refused(const char *json, int expected)
{
	json_auto_t *object = json_loads(json, 0, NULL);
	struct bytes read CLEANUP_BYTES = {0};

	assert_non_null(object);
	assert_int_equal(bytes_append_text(&read, "before"), 0);
	assert_int_equal(json_get_path(object, "path", &read), expected);
	assert_int_equal(read.length, strlen("before"));
}

static void test_invalid_path_is_refused(void **state)
{
	(void)state;
	check_refused("{}", -ENOENT);
	check_refused("{\"path\": 7}", -EPROTO);
	check_refused("{\"path\": \"a\", \"path_base64\": 7}", -EPROTO);
	check_refused("{\"path_base64\": \"YQ=\"}", -EPROTO);
	check_refused("{\"path_base64\": \"Y?==\"}", -EPROTO);
	check_refused("{\"path_base64\": \"YWJjY===\"}", -EPROTO);
	check_refused("{\"path_base64\": \"YQ==YWJj\"}", -EPROTO);
	check_refused("{\"path\": \"a\", \"path_base64\": \"Yg==\"}", -EPROTO);
	check_refused("{\"path\": \"\\\\xfe\", \"path_base64\": \"/w==\"}", -EPROTO);
	check_refused("{\"path\": 7, \"path_base64\": \"YQ==\"}", -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path_in_utf8_is_one_member),
		cmocka_unit_test(test_path_that_is_not_utf8_is_also_in_base64),
		cmocka_unit_test(test_path_that_was_set_is_read_back),
		cmocka_unit_test(test_invalid_path_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
