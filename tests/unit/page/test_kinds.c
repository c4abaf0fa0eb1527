/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "page/tallies.h"
#include "unit_test.h"

static void check_name(const char *file, const char *expected)
{
	char name[KIND_NAME_MAX + 1];

	kind_name(name, file, strlen(file));
	assert_string_equal(name, expected);
}

static void test_extension_is_what_follows_the_last_dot(void **state)
{
	(void)state;
	check_name("IMG_1.JPG", "jpg");
	check_name("a.tar.gz", "gz");
	check_name("song.mp3", "mp3");
	check_name("archive.7z", "7z");
	check_name(".profile.old", "old");
}

static void test_name_without_a_type_has_no_extension(void **state)
{
	(void)state;
	check_name("README", "");
	check_name("", "");
	check_name(".bashrc", "");
	check_name("end.", "");
	check_name("libc.so.6", "");
	check_name("a.b c", "");
	check_name("a.<b>", "");
	check_name("a.\xc3\xa9", "");
	check_name("a.extension", "");
	check_name("a.12345678", "");
}

static void test_kinds_are_ranked_by_redundant_bytes(void **state)
{
	struct kinds kinds = {0};

	(void)state;
	assert_int_equal(kinds_add_file(&kinds, "txt", 10), 0);
	assert_int_equal(kinds_add_copy(&kinds, "jpg", 5), 0);
	assert_int_equal(kinds_add_copy(&kinds, "", 6), 0);
	assert_int_equal(kinds_add_copy(&kinds, "jpg", 7), 0);
	assert_int_equal(kinds_add_file(&kinds, "jpg", 20), 0);
	assert_int_equal(kinds_add_file(&kinds, "jpg", 3), 0);
	kinds_rank(&kinds);
	assert_int_equal(kinds.count, 3);
	assert_string_equal(kinds.list[0].name, "jpg");
	assert_int_equal(kinds.list[0].bytes, 23);
	assert_int_equal(kinds.list[0].copies, 2);
	assert_int_equal(kinds.list[0].redundant, 12);
	assert_string_equal(kinds.list[1].name, "");
	assert_string_equal(kinds.list[2].name, "txt");
	kinds_free(&kinds);
}

static void test_number_of_kinds_is_bounded_and_no_byte_is_lost(void **state)
{
	struct kinds kinds = {0};
	uint64_t sum = 0;

	(void)state;
	for (unsigned int i = 0; i < 3 * KINDS_MAX; i++) {
		char name[KIND_NAME_MAX + 1];

		(void)snprintf(name, sizeof(name), "x%u", i);
		assert_int_equal(kinds_add_file(&kinds, name, 1), 0);
		assert_int_equal(kinds_add_copy(&kinds, name, 1), 0);
	}
	assert_int_equal(kinds.count, KINDS_MAX);
	kinds_rank(&kinds);
	assert_string_equal(kinds.list[0].name, "");
	for (size_t i = 0; i < kinds.count; i++)
		sum += kinds.list[i].redundant + kinds.list[i].bytes;
	assert_int_equal(sum, 6 * KINDS_MAX);
	kinds_free(&kinds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_extension_is_what_follows_the_last_dot),
		cmocka_unit_test(test_name_without_a_type_has_no_extension),
		cmocka_unit_test(test_kinds_are_ranked_by_redundant_bytes),
		cmocka_unit_test(test_number_of_kinds_is_bounded_and_no_byte_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
