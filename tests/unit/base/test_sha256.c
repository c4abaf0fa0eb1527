/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/hash.h"
#include "unit_test.h"

/* The expected digits are the output of sha256sum(1). */
#define OF_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define OF_NAME "9ba99363683b7f8623403d66600ba3e1d882dda6f548bff516b92bd6b54cb2f7"
#define OF_MILLION "1b977e9f84f1b26b6ed7f68b0498faee2385ea4125bd29adce4a7d9106ba3134"

static void test_digits_are_those_of_sha256sum(void **state)
{
	char digits[SHA256_DIGITS + 1];
	struct sha256 *sha256 = sha256_new();

	(void)state;
	assert_non_null(sha256);
	assert_int_equal(sha256_finish(sha256, digits), 0);
	assert_string_equal(digits, OF_NOTHING);
	assert_int_equal(sha256_reset(sha256), 0);
	assert_int_equal(sha256_update(sha256, "twinfs\n", 7), 0);
	assert_int_equal(sha256_finish(sha256, digits), 0);
	assert_string_equal(digits, OF_NAME);
	sha256_free(sha256);
}

static void test_bytes_can_be_added_in_pieces(void **state)
{
	char digits[SHA256_DIGITS + 1];
	char block[1000];
	struct sha256 *sha256 = sha256_new();

	(void)state;
	assert_non_null(sha256);
	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 1000; i++)
		assert_int_equal(sha256_update(sha256, block, sizeof(block)), 0);
	assert_int_equal(sha256_finish(sha256, digits), 0);
	assert_string_equal(digits, OF_MILLION);
	sha256_free(sha256);
}

static void test_digest_that_was_begun_is_dropped_by_the_next_one(void **state)
{
	char digits[SHA256_DIGITS + 1];
	struct sha256 *sha256 = sha256_new();

	(void)state;
	assert_non_null(sha256);
	assert_int_equal(sha256_update(sha256, "dropped", 7), 0);
	assert_int_equal(sha256_reset(sha256), 0);
	assert_int_equal(sha256_finish(sha256, digits), 0);
	assert_string_equal(digits, OF_NOTHING);
	sha256_free(sha256);
	sha256_free(NULL);
}

static void test_digits_can_be_parsed(void **state)
{
	char digits[SHA256_DIGITS + 1];
	uint8_t bytes[SHA256_BYTES];

	(void)state;
	assert_true(sha256_parse(OF_NAME, bytes));
	assert_int_equal(bytes[0], 0x9b);
	assert_int_equal(bytes[SHA256_BYTES - 1], 0xf7);
	sha256_format(bytes, digits);
	assert_string_equal(digits, OF_NAME);
	assert_false(sha256_parse(OF_NAME + 1, bytes));
	assert_false(sha256_parse(OF_NAME "0", bytes));
	digits[5] = 'A';
	assert_false(sha256_parse(digits, bytes));
	assert_false(sha256_parse("", bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_digits_are_those_of_sha256sum),
		cmocka_unit_test(test_bytes_can_be_added_in_pieces),
		cmocka_unit_test(test_digits_can_be_parsed),
		cmocka_unit_test(test_digest_that_was_begun_is_dropped_by_the_next_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
