/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "unit_test.h"

static void test_bytes_are_encoded_as_in_rfc_4648(void **state)
{
	/* RFC 4648, section 10 */
	static const char *const vectors[][2] = {
		{"", ""},
		{"f", "Zg=="},
		{"fo", "Zm8="},
		{"foo", "Zm9v"},
		{"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		struct bytes text CLEANUP_BYTES = {0};

		assert_int_equal(base64_encode(&text, vectors[i][0], strlen(vectors[i][0])), 0);
		assert_string_equal(bytes_text(&text), vectors[i][1]);
	}
}

static void test_encoded_bytes_decode_to_the_same_bytes(void **state)
{
	uint8_t data[256];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	for (size_t length = 0; length < sizeof(data); length++) {
		struct bytes text CLEANUP_BYTES = {0}, read CLEANUP_BYTES = {0};

		assert_int_equal(base64_encode(&text, data, length), 0);
		assert_int_equal(base64_decode(&read, (const char *)text.data, text.length), 0);
		assert_int_equal(read.length, length);
		if (length > 0)
			assert_memory_equal(read.data, data, length);
	}
}

static void test_invalid_text_is_refused_and_changes_nothing(void **state)
{
	static const char *const wrong[] = {"Z",      "Zg=",    "Zg==Zg==", "Z===", "====",
					    "Zg =\n", "Zm9v\n", "Zm9-",     "Zh==", "Zm9="};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct bytes data CLEANUP_BYTES = {0};

		assert_int_equal(bytes_append_text(&data, "before"), 0);
		assert_int_equal(base64_decode(&data, wrong[i], strlen(wrong[i])), -EPROTO);
		assert_string_equal(bytes_text(&data), "before");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_are_encoded_as_in_rfc_4648),
		cmocka_unit_test(test_encoded_bytes_decode_to_the_same_bytes),
		cmocka_unit_test(test_invalid_text_is_refused_and_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
