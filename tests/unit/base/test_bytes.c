/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "unit_test.h"

/* ---- the buffer ---------------------------------------------------------------------- */

static void test_appended_pieces_are_in_order(void **state)
{
	struct bytes bytes CLEANUP_BYTES = {0};

	(void)state;
	assert_int_equal(bytes_append(&bytes, "a\0b", 3), 0);
	assert_int_equal(bytes_append(&bytes, NULL, 0), 0);
	assert_int_equal(bytes_append_text(&bytes, "cd"), 0);
	assert_int_equal(bytes_format(&bytes, "%d-%s", 7, "x"), 0);
	assert_int_equal(bytes.length, 8);
	assert_memory_equal(bytes.data, "a\0bcd7-x", 8);
}

static void test_text_ends_with_a_nul_that_length_does_not_count(void **state)
{
	struct bytes bytes CLEANUP_BYTES = {0};

	(void)state;
	assert_string_equal(bytes_text(&bytes), "");
	for (size_t length = 1; length <= 300; length++) {
		assert_int_equal(bytes_append(&bytes, "x", 1), 0);
		assert_int_equal(strlen(bytes_text(&bytes)), length);
		assert_int_equal(bytes.length, length);
	}
}

static void test_long_texts_are_formatted_whole(void **state)
{
	struct bytes bytes CLEANUP_BYTES = {0};

	(void)state;
	assert_int_equal(bytes_format(&bytes, "%*d", 5000, 1), 0);
	assert_int_equal(bytes_format(&bytes, "%*d", 70000, 2), 0);
	assert_int_equal(bytes.length, 75000);
	assert_int_equal(bytes.data[4999], '1');
	assert_int_equal(bytes.data[74999], '2');
}

static void test_lengths_that_no_memory_can_hold_are_refused(void **state)
{
	struct bytes bytes CLEANUP_BYTES = {0};

	(void)state;
	assert_int_equal(bytes_append_text(&bytes, "kept"), 0);
	assert_int_equal(bytes_reserve(&bytes, SIZE_MAX), -ENOMEM);
	assert_int_equal(bytes_reserve(&bytes, SIZE_MAX - 3), -ENOMEM);
	assert_int_equal(bytes_reserve(&bytes, SIZE_MAX / 2), -ENOMEM);
	assert_string_equal(bytes_text(&bytes), "kept");
}

static void test_buffers_compare_as_words_in_a_dictionary_do(void **state)
{
	static const char *const words[] = {"", "a", "a/b", "a0", "b", "\xff"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(words); j++) {
			struct bytes a CLEANUP_BYTES = {0}, b CLEANUP_BYTES = {0};
			int order;

			assert_int_equal(bytes_append_text(&a, words[i]), 0);
			assert_int_equal(bytes_append_text(&b, words[j]), 0);
			order = bytes_compare(&a, &b);
			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
	}
}

static void test_freed_buffer_can_be_used_again(void **state)
{
	struct bytes bytes CLEANUP_BYTES = {0};

	(void)state;
	assert_int_equal(bytes_append_text(&bytes, "one"), 0);
	bytes_free(&bytes);
	assert_int_equal(bytes.length, 0);
	assert_int_equal(bytes_append_text(&bytes, "two"), 0);
	assert_string_equal(bytes_text(&bytes), "two");
}

/* ---- the codec ----------------------------------------------------------------------- */

/* A random number; all magnitudes are equally likely. */
static uint64_t any_number(void)
{
	uint64_t bits = (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();

	return bits >> random() % 64;
}

static int compare_encoded(uint64_t a, uint64_t b)
{
	uint8_t x[VARINT_MAX_BYTES], y[VARINT_MAX_BYTES];
	size_t x_length = (size_t)(varint_put(x, a) - x), y_length = (size_t)(varint_put(y, b) - y);
	size_t common = x_length < y_length ? x_length : y_length;
	int order = memcmp(x, y, common);

	return order ? order : x_length < y_length ? -1 : x_length > y_length;
}

static void assert_ordered(uint64_t a, uint64_t b)
{
	int order = compare_encoded(a, b);

	assert_int_equal(order < 0, a < b);
	assert_int_equal(order == 0, a == b);
}

static void test_encoded_numbers_compare_as_the_numbers_do(void **state)
{
	(void)state;
	srandom(1);
	for (int i = 0; i < 200000; i++)
		assert_ordered(any_number(), any_number());
	for (int i = 0; i < 200000; i++) {
		uint64_t number = any_number();

		assert_ordered(number, number + 1);
		assert_ordered(number, number - 1);
	}
	for (int shift = 0; shift < 64; shift++) {
		for (int by = -2; by <= 2; by++)
			assert_ordered((UINT64_C(1) << shift),
				       (UINT64_C(1) << shift) + (uint64_t)by);
	}
}

static void assert_round_trip(uint64_t number)
{
	uint8_t encoded[VARINT_MAX_BYTES];
	const uint8_t *at = encoded, *end = varint_put(encoded, number);
	uint64_t decoded = ~number;

	assert_in_range(end - encoded, 1, VARINT_MAX_BYTES);
	assert_true(varint_get(&at, end, &decoded));
	assert_true(decoded == number);
	assert_ptr_equal(at, end);
	for (const uint8_t *cut = encoded; cut < end; cut++) {
		at = encoded;
		assert_false(varint_get(&at, cut, &decoded));
		assert_ptr_equal(at, encoded);
	}
}

static void test_encoded_numbers_decode_and_truncated_ones_are_refused(void **state)
{
	(void)state;
	srandom(2);
	for (uint64_t number = 0; number < 1000; number++) {
		assert_round_trip(number);
		assert_round_trip(UINT64_MAX - number);
	}
	for (int i = 0; i < 100000; i++)
		assert_round_trip(any_number());
}

static void test_small_numbers_are_short(void **state)
{
	uint8_t encoded[VARINT_MAX_BYTES];

	(void)state;
	assert_int_equal(varint_put(encoded, 0) - encoded, 1);
	assert_int_equal(varint_put(encoded, 247) - encoded, 1);
	assert_int_equal(varint_put(encoded, 248) - encoded, 2);
	assert_int_equal(varint_put(encoded, 255) - encoded, 2);
	assert_int_equal(varint_put(encoded, 256) - encoded, 3);
	assert_int_equal(varint_put(encoded, UINT64_MAX) - encoded, VARINT_MAX_BYTES);
}

static void assert_signed_round_trip(int64_t number)
{
	uint8_t encoded[VARINT_MAX_BYTES];
	const uint8_t *at = encoded, *end = varint_put_signed(encoded, number);
	int64_t decoded = ~number;

	assert_in_range(end - encoded, 1, VARINT_MAX_BYTES);
	assert_true(varint_get_signed(&at, end, &decoded));
	assert_true(decoded == number);
	assert_ptr_equal(at, end);
	at = encoded;
	assert_false(varint_get_signed(&at, end - 1, &decoded));
	assert_ptr_equal(at, encoded);
}

static void test_encoded_signed_numbers_decode(void **state)
{
	uint8_t encoded[VARINT_MAX_BYTES];

	(void)state;
	srandom(3);
	for (int64_t number = -1000; number <= 1000; number++)
		assert_signed_round_trip(number);
	assert_signed_round_trip(INT64_MIN);
	assert_signed_round_trip(INT64_MIN + 1);
	assert_signed_round_trip(INT64_MAX);
	for (int i = 0; i < 100000; i++)
		assert_signed_round_trip((int64_t)any_number());
	assert_int_equal(varint_put_signed(encoded, -1) - encoded, 1);
	assert_int_equal(varint_put_signed(encoded, 1) - encoded, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_appended_pieces_are_in_order),
		cmocka_unit_test(test_text_ends_with_a_nul_that_length_does_not_count),
		cmocka_unit_test(test_long_texts_are_formatted_whole),
		cmocka_unit_test(test_lengths_that_no_memory_can_hold_are_refused),
		cmocka_unit_test(test_buffers_compare_as_words_in_a_dictionary_do),
		cmocka_unit_test(test_freed_buffer_can_be_used_again),
		cmocka_unit_test(test_encoded_numbers_compare_as_the_numbers_do),
		cmocka_unit_test(test_encoded_numbers_decode_and_truncated_ones_are_refused),
		cmocka_unit_test(test_small_numbers_are_short),
		cmocka_unit_test(test_encoded_signed_numbers_decode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
