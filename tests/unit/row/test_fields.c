/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "row/fields.h"
#include "row/json_text.h"
#include "unit_test.h"

enum colour {
	RED,
	GREEN,
	NONE
};

struct row {
	const char *path, *other;
	int64_t number;
	uint64_t identity;
	enum colour colour;
	struct timespec time, changed;
	uint32_t count, mode, flags;
	bool has_flags;
	struct hash128 hash;
	uint8_t sha256[SHA256_BYTES];
	struct bytes bytes;
	char text[4];
	uint64_t size;
	bool whole;
	int64_t seconds;
	uint32_t doubled;
};

static json_t *make_doubled(const void *member)
{
	return json_integer(2 * (json_int_t) * (const uint32_t *)member);
}

static bool get_doubled(const json_t *value, void *member)
{
	*(uint32_t *)member = (uint32_t)json_integer_value(value) / 2;
	return json_is_integer(value) && json_integer_value(value) % 2 == 0;
}

static bool has_doubled(const void *member)
{
	return *(const uint32_t *)member != 0;
}

static const struct field_form doubled = {has_doubled, make_doubled, get_doubled};

static const char *text_fault(const void *member)
{
	const char *text = member;

	if (*text == 'x')
		return "it begins with x";
	return *text == 'y' ? "" : NULL;
}

static const struct field_word colours[] = {{"red", RED}, {"green", GREEN}};

static const struct field fields[] = {
	{FIELD(struct row, path, "path", FIELD_PATH), .required = true},
	{FIELD(struct row, other, "other", FIELD_PATH)},
	{FIELD(struct row, number, "number", FIELD_NUMBER)},
	{FIELD(struct row, identity, "identity", FIELD_HEX64)},
	{FIELD(struct row, colour, "colour", FIELD_WORD), .words = colours, .count = 2},
	{FIELD(struct row, time, "time", FIELD_TIME)},
	{FIELD(struct row, changed, "changed", FIELD_TIMES)},
	{FIELD(struct row, count, "count", FIELD_COUNT)},
	{FIELD(struct row, mode, "mode", FIELD_MODE)},
	{FIELD(struct row, flags, "flags", FIELD_FLAGS), .optional = true,
	 .given = offsetof(struct row, has_flags)},
	{FIELD(struct row, hash, "hash", FIELD_HASH128)},
	{FIELD(struct row, sha256, "sha256", FIELD_SHA256)},
	{FIELD(struct row, bytes, "bytes", FIELD_BYTES)},
	{FIELD(struct row, text, "text", FIELD_TEXT), .count = 4, .check = text_fault,
	 .fault = "it has no text"},
	{FIELD(struct row, size, "size", FIELD_SIZE), .min = 3, .max = 9,
	 .fault = "it has no size"},
	{FIELD(struct row, whole, "whole", FIELD_BOOL)},
	{FIELD(struct row, seconds, "seconds", FIELD_SECONDS), .optional = true,
	 .given = offsetof(struct row, whole)},
	{FIELD(struct row, doubled, "doubled", FIELD_FORM), .form = &doubled},
};

#define HASH "00112233445566778899aabbccddeeff"
#define SHA256 HASH HASH

/* Asserts that a row is written as this text. */
static void assert_written(const struct row *row, const char *expected)
{
	struct bytes text CLEANUP_BYTES = {0};
	json_auto_t *object = json_object();

	assert_int_equal(fields_set(object, row, FIELDS(fields)), 0);
	assert_int_equal(json_append(&text, object, JSON_COMPACT), 0);
	assert_string_equal(bytes_text(&text), expected);
}

static int read_row(const char *text, struct row *row, struct arena *memory)
{
	json_auto_t *object = json_read(text, strlen(text), 0);

	*row = (struct row){.colour = NONE};
	assert_non_null(object);
	return fields_get(object, row, FIELDS(fields), memory, NULL);
}

static void test_each_type_is_written_and_read(void **state)
{
	static const char text[] =
		"{\"path\":\"a/\\\\xff\",\"path_base64\":\"YS//\",\"other\":\"b\",\"number\":-5,"
		"\"identity\":\"ffffffffffffffff\",\"colour\":\"green\","
		"\"time\":\"2001-09-09T01:46:40Z\",\"changed\":-3,\"changed_ns\":7,\"count\":0,"
		"\"mode\":\"0644\",\"flags\":\"1f\",\"hash\":\"" HASH "\",\"sha256\":\"" SHA256
		"\",\"bytes\":\"\\\\xfe\",\"bytes_base64\":\"/g==\",\"text\":\"abc\",\"size\":3,"
		"\"whole\":true,\"seconds\":\"1969-12-31T23:59:59Z\",\"doubled\":14}";
	struct arena memory CLEANUP_ARENA = {0};
	struct row row;

	(void)state;
	assert_int_equal(read_row(text, &row, &memory), 0);
	assert_string_equal(row.path, "a/\xff");
	assert_string_equal(row.other, "b");
	assert_int_equal(row.number, -5);
	assert_true(row.identity == UINT64_MAX);
	assert_int_equal(row.colour, GREEN);
	assert_int_equal(row.time.tv_sec, 1000000000);
	assert_int_equal(row.changed.tv_sec, -3);
	assert_int_equal(row.changed.tv_nsec, 7);
	assert_int_equal(row.mode, 0644);
	assert_true(row.has_flags);
	assert_int_equal(row.flags, 0x1f);
	assert_int_equal(row.sha256[1], 0x11);
	assert_int_equal(row.bytes.length, 1);
	assert_string_equal(row.text, "abc");
	assert_int_equal(row.size, 3);
	assert_true(row.whole);
	assert_int_equal(row.seconds, -1);
	assert_int_equal(row.doubled, 7);
	assert_written(&row, text);
	bytes_free(&row.bytes);
}

static void test_absent_fields_have_no_members(void **state)
{
	static const char text[] = "{\"path\":\"\",\"time\":\"1970-01-01T00:00:00Z\",\"changed\":0,"
				   "\"changed_ns\":0,\"count\":0,\"mode\":\"0000\","
				   "\"hash\":\"00000000000000000000000000000000\"}";
	struct arena memory CLEANUP_ARENA = {0};
	struct row row;

	(void)state;
	assert_written(&(struct row){.path = "", .colour = NONE}, text);
	assert_int_equal(read_row("{\"path\":\"\"}", &row, &memory), 0);
	assert_null(row.other);
	assert_int_equal(row.colour, NONE);
	assert_false(row.has_flags);
}

static void test_missing_and_malformed_members_are_refused(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"path\":7}",
		"{\"path\":\"a\\u0000\"}",
		"{\"path\":\"a\",\"identity\":\"f\"}",
		"{\"path\":\"a\",\"colour\":\"blue\"}",
		"{\"path\":\"a\",\"colour\":1}",
		"{\"path\":\"a\",\"time\":\"yesterday\"}",
		"{\"path\":\"a\",\"time\":\"2001-09-09T01:46:40Z \"}",
		"{\"path\":\"a\",\"mode\":420}",
		"{\"path\":\"a\",\"hash\":\"00\"}",
		"{\"path\":\"a\",\"hash\":\"00112233445566778899aabbccddeeff0\"}",
		"{\"path\":\"a\",\"sha256\":\"00112233445566778899aabbccddeeff\"}",
		"{\"path\":\"a\",\"number\":\"5\"}",
		"{\"path\":\"a\",\"count\":4294967296}",
		"{\"path\":\"a\",\"count\":-1}",
		"{\"path\":\"a\",\"mode\":\"-7\"}",
		"{\"path\":\"a\",\"mode\":\"789\"}",
		"{\"path\":\"a\",\"changed\":1}",
		"{\"path\":\"a\",\"changed\":1,\"changed_ns\":1000000000}",
		"{\"path\":\"a\",\"time\":\"2001-02-30T01:46:40Z\"}",
		"{\"path\":\"a\",\"text\":\"abcd\"}",
		"{\"path\":\"a\",\"whole\":1}",
		"{\"path\":\"a\",\"seconds\":7}",
		"{\"path\":\"a\",\"doubled\":3}",
	};
	struct arena memory CLEANUP_ARENA = {0};
	struct row row;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		json_auto_t *object = json_read(texts[i], strlen(texts[i]), JSON_ALLOW_NUL);

		row = (struct row){.colour = NONE};
		assert_non_null(object);
		assert_int_equal(fields_get(object, &row, FIELDS(fields), &memory, NULL), -EPROTO);
	}
}

static void assert_fault(const char *text, const char *expected)
{
	json_auto_t *object = json_read(text, strlen(text), 0);
	struct row row = {.colour = NONE};
	struct arena memory CLEANUP_ARENA = {0};
	const char *fault = NULL;

	assert_int_equal(fields_get(object, &row, FIELDS(fields), &memory, &fault), -EPROTO);
	assert_string_equal(fault, expected);
}

static void test_fault_of_a_field_is_told(void **state)
{
	(void)state;
	assert_fault("{\"path\":\"a\",\"size\":2}", "it has no size");
	assert_fault("{\"path\":\"a\",\"size\":10}", "it has no size");
	assert_fault("{\"path\":\"a\",\"text\":7}", "it has no text");
	assert_fault("{\"path\":\"a\",\"text\":\"x\"}", "it begins with x");
	assert_fault("{\"path\":\"a\",\"text\":\"y\"}", "it has no text");
	assert_fault("{\"path\":\"a\",\"path_base64\":\"Yg==\"}",
		     "path and path_base64 do not agree");
	assert_fault("{}", "a member is missing or of another form");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_type_is_written_and_read),
		cmocka_unit_test(test_absent_fields_have_no_members),
		cmocka_unit_test(test_missing_and_malformed_members_are_refused),
		cmocka_unit_test(test_fault_of_a_field_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
