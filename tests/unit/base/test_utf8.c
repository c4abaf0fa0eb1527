/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/text.h"
#include "unit_test.h"

/* Writes a code as UTF-8 by the bit patterns of RFC 3629, section 3; returns its length. */
static size_t encode(uint32_t code, unsigned char bytes[static 4])
{
	size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const unsigned char marks[] = {0, 0x00, 0xc0, 0xe0, 0xf0};

	for (size_t i = length - 1; i > 0; i--) {
		bytes[i] = (unsigned char)(0x80 | (code & 0x3f));
		code >>= 6;
	}
	bytes[0] = (unsigned char)(marks[length] | code);
	return length;
}

static void test_every_code_but_surrogates_is_decoded(void **state)
{
	(void)state;
	for (uint32_t code = 0; code <= 0x10ffff; code++) {
		unsigned char bytes[4];
		size_t length = encode(code, bytes);
		uint32_t found = UINT32_MAX;

		if (code >= 0xd800 && code <= 0xdfff) {
			assert_int_equal(utf8_decode(bytes, length, &found), 0);
		} else {
			assert_int_equal(utf8_decode(bytes, length, &found), length);
			assert_int_equal(found, code);
		}
		/* cut short */
		if (length > 1)
			assert_int_equal(utf8_decode(bytes, length - 1, &found), 0);
	}
}

static void test_bytes_that_are_not_utf8_are_refused(void **state)
{
	static const char *const wrong[] = {
		"\x80", /* a continuation without a lead */
		"\xbf",
		"\xc0\xaf", /* overlong '/' */
		"\xc1\xbf",
		"\xe0\x80\xaf", /* overlong '/' again */
		"\xe0\x9f\xbf",
		"\xf0\x8f\xbf\xbf",
		"\xc3(", /* no continuation */
		"\xe2\x88(",
		"\xf0\x9f\x98(",
		"\xed\xa0\x80", /* surrogate */
		"\xf4\x90\x80\x80", /* past U+10FFFF */
		"\xf5\x80\x80\x80",
		"\xff",
		"\xfe",
	};
	uint32_t code;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(utf8_decode(wrong[i], strlen(wrong[i]), &code), 0);
}

static void test_control_and_misleading_characters_are_unfit(void **state)
{
	static const uint32_t unfit[] = {
		0,      '\n',   0x1b,   0x7f,   0x80,   0x9b,   0xad,   0x061c,
		0x200b, 0x200e, 0x2028, 0x202e, 0x2066, 0x2069, 0xfeff, 0xe0041,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(unfit) / sizeof(unfit[0]); i++)
		assert_true(utf8_is_unfit(unfit[i]));
}

static void test_letters_of_all_scripts_are_fit(void **state)
{
	static const uint32_t fit[] = {
		' ',    '~',    0xa0,   0xe9,   0x5d0,  0x200c,
		0x200d, 0x2026, 0x2215, 0x4e2d, 0xff0f, 0x1f600,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(fit) / sizeof(fit[0]); i++)
		assert_false(utf8_is_unfit(fit[i]));
}

static void test_text_is_cut_between_characters(void **state)
{
	static const char text[] = "a\xe2\x82\xac\xf0\x9f\x98\x80z";
	static const size_t kept[] = {0, 1, 1, 1, 4, 4, 4, 4, 8, 9, 9};

	(void)state;
	for (size_t limit = 0; limit < sizeof(kept) / sizeof(kept[0]); limit++)
		assert_int_equal(utf8_cut(text, strlen(text), limit), kept[limit]);
}

static void test_bytes_that_are_not_utf8_are_cut_anywhere(void **state)
{
	(void)state;
	for (size_t limit = 0; limit <= 6; limit++)
		assert_int_equal(utf8_cut("\x80\x80\x80\x80\x80\x80", 6, limit), limit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_code_but_surrogates_is_decoded),
		cmocka_unit_test(test_bytes_that_are_not_utf8_are_refused),
		cmocka_unit_test(test_control_and_misleading_characters_are_unfit),
		cmocka_unit_test(test_letters_of_all_scripts_are_fit),
		cmocka_unit_test(test_text_is_cut_between_characters),
		cmocka_unit_test(test_bytes_that_are_not_utf8_are_cut_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
