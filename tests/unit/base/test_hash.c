/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "unit_test.h"

static const char *digits_of(const void *data, size_t length)
{
	static char digits[HASH128_DIGITS + 1];

	hash128_format(hash128(data, length), digits);
	return digits;
}

/* The expected digits are the output of `xxhsum -H2`. */
static void test_digits_are_those_of_xxhsum(void **state)
{
	char block[1000];

	(void)state;
	memset(block, 'x', sizeof(block));
	assert_string_equal(digits_of("", 0), "99aa06d3014798d86001c324468d497f");
	assert_string_equal(digits_of("twinfs\n", 7), "9cdb58fd979baa049e41cde76f7a3614");
	assert_string_equal(digits_of(block, sizeof(block)), "50a1af5a5f2dcf01c0a4877b962cba82");
}

static void test_leading_zeros_are_printed(void **state)
{
	char digits[HASH128_DIGITS + 1];

	(void)state;
	hash128_format((struct hash128){1, 2}, digits);
	assert_string_equal(digits, "00000000000000010000000000000002");
	hash128_format((struct hash128){UINT64_MAX, 0}, digits);
	assert_string_equal(digits, "ffffffffffffffff0000000000000000");
}

static void assert_same(struct hash128 a, struct hash128 b)
{
	assert_true(a.high == b.high);
	assert_true(a.low == b.low);
}

static void test_stream_hashes_like_one_piece_however_it_is_cut(void **state)
{
	struct hash_state *stream = hash_state_new();
	uint8_t data[5000];
	size_t length, piece;

	(void)state;
	assert_non_null(stream);
	srandom(1);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)random();
	for (int round = 0; round < 500; round++) {
		length = (size_t)random() % sizeof(data);
		hash_state_reset(stream);
		for (size_t at = 0; at < length; at += piece) {
			piece = 1 + (size_t)random() % 700;
			if (piece > length - at)
				piece = length - at;
			hash_state_update(stream, data + at, piece);
		}
		assert_same(hash_state_digest(stream), hash128(data, length));
	}
	hash_state_free(stream);
}

static void test_copied_stream_is_independent(void **state)
{
	struct hash_state *one = hash_state_new(), *other = hash_state_new();

	(void)state;
	assert_non_null(one);
	assert_non_null(other);
	hash_state_update(one, "abc", 3);
	hash_state_copy(other, one);
	hash_state_update(one, "d", 1);
	hash_state_update(other, "e", 1);
	assert_same(hash_state_digest(one), hash128("abcd", 4));
	assert_same(hash_state_digest(other), hash128("abce", 4));
	assert_same(hash_state_digest(one), hash128("abcd", 4));
	hash_state_free(one);
	hash_state_free(other);
	hash_state_free(NULL);
}

static void test_other_seed_gives_another_hash(void **state)
{
	(void)state;
	assert_true(hash64("name", 4, 1) != hash64("name", 4, 2));
	assert_true(hash64("name", 4, 1) == hash64("name", 4, 1));
}

static void test_digits_are_parsed(void **state)
{
	const struct hash128 hash = {UINT64_C(0x0123456789abcdef), UINT64_C(0xfedcba9876543210)};
	static const char *const wrong[] = {"0123456789abcdefFEDCBA9876543210", "0123456789abcdef",
					    "0123456789abcdef fedcba987654321", ""};
	char digits[HASH128_DIGITS + 1];
	struct hash128 read;

	(void)state;
	hash128_format(hash, digits);
	assert_true(hash128_parse(digits, &read));
	assert_true(hash128_equal(hash, read));
	read.low++;
	assert_false(hash128_equal(hash, read));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(hash128_parse(wrong[i], &read));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_digits_are_parsed),
		cmocka_unit_test(test_digits_are_those_of_xxhsum),
		cmocka_unit_test(test_leading_zeros_are_printed),
		cmocka_unit_test(test_stream_hashes_like_one_piece_however_it_is_cut),
		cmocka_unit_test(test_copied_stream_is_independent),
		cmocka_unit_test(test_other_seed_gives_another_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
