/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"
#include "view/tree/names.h"

#define DIR_ID 0x1f2
#define COOKIE UINT64_C(0x7edcba9876543210)
#define ID "~1f2-7edcba9876543210"

static const char *make(const char *path)
{
	static char name[COPY_NAME_SIZE];

	copy_name_make(name, path, strlen(path), DIR_ID, COOKIE);
	return name;
}

static void assert_plain(const char *path, const char *expected)
{
	char back[COPY_NAME_SIZE];
	uint64_t dir, cookie;

	assert_string_equal(make(path), expected);
	assert_false(copy_name_parse_short(expected, &dir, &cookie));
	assert_int_equal(copy_name_parse_plain(expected, back), strlen(path));
	assert_string_equal(back, path);
}

static void assert_short(const char *path, const char *expected)
{
	uint64_t dir, cookie;

	assert_string_equal(make(path), expected);
	assert_true(strlen(expected) < COPY_NAME_SIZE);
	assert_true(copy_name_parse_short(expected, &dir, &cookie));
	assert_int_equal(dir, DIR_ID);
	assert_int_equal(cookie, COOKIE);
}

/* Returns a path of length bytes: begin, then fillers, then end. */
static const char *long_path(const char *begin, const char *end, size_t length)
{
	static char path[5000];
	size_t fill = length - strlen(begin) - strlen(end);

	(void)snprintf(path, sizeof(path), "%s", begin);
	memset(path + strlen(begin), 'x', fill);
	(void)snprintf(path + strlen(begin) + fill, sizeof(path) - strlen(begin) - fill, "%s", end);
	return path;
}

static void test_slashes_become_division_slashes(void **state)
{
	(void)state;
	assert_plain("a", "a");
	assert_plain("Photos/2019/IMG_1.jpg", "Photos∕2019∕IMG_1.jpg");
	assert_plain(".hidden/.rc", ".hidden∕.rc");
	assert_plain("a\n\033[31m/\xff\xfe/b", "a\n\033[31m∕\xff\xfe∕b");
}

static void test_name_that_just_fits_is_plain(void **state)
{
	char expected[COPY_NAME_SIZE];

	(void)state;
	memset(expected, 'x', 255);
	expected[255] = '\0';
	assert_plain(long_path("", "", 255), expected);
	memcpy(expected, "d∕", strlen("d∕"));
	assert_plain(long_path("d/", "", 253), expected);
}

static void test_longer_name_is_cut_before_its_id(void **state)
{
	const char *name = make(long_path("d/", ".jpeg", 254));

	(void)state;
	assert_int_equal(strlen(name), 255);
	assert_memory_equal(name, "d∕xxx", strlen("d∕xxx"));
	assert_string_equal(strrchr(name, '~'), ID ".jpeg");
	assert_short(long_path("d/", ".jpeg", 254), strdupa(name));
}

static void test_path_longer_than_any_name_is_cut_after_its_beginning(void **state)
{
	const char *name = make(long_path("begin/", "/x/last.txt", 4500));

	(void)state;
	assert_int_equal(strlen(name), 255);
	assert_memory_equal(name, "begin∕xx", strlen("begin∕xx"));
	assert_string_equal(strrchr(name, '~'), ID ".txt");
}

static void test_path_with_a_division_slash_has_the_short_form(void **state)
{
	(void)state;
	assert_short("a∕b", "a∕b" ID);
	assert_short("d/a∕b.txt", "d∕a∕b" ID ".txt");
	assert_short("∕", "∕" ID);
}

static void test_path_like_a_short_form_has_the_short_form(void **state)
{
	(void)state;
	assert_short("x~1-2", "x~1-2" ID);
	assert_short("d/x~1f-2a.txt", "d∕x~1f-2a" ID ".txt");
	assert_short("~1-2.tar.gz", "~1-2.tar" ID ".gz");
	/* the directory's name contains the id of another copy */
	assert_short("x~1-2.d/y", "x~1-2.d∕y" ID);
}

static void test_path_with_the_mark_has_the_short_form(void **state)
{
	(void)state;
	assert_short("(kept) x", "(kept) x" ID);
	assert_short("(kept) d/x.txt", "(kept) d∕x" ID ".txt");
}

static void check_kept(const char *path, const char *expected)
{
	char name[COPY_NAME_SIZE];

	copy_name_make_kept(name, path, strlen(path), 0x12, 0xab);
	assert_non_null(copy_name_skip_mark(name));
	assert_string_equal(copy_name_skip_mark(name), expected);
	assert_null(copy_name_skip_mark(expected));
}

static void test_kept_copy_has_a_mark_before_its_name(void **state)
{
	char longest[COPY_NAME_SIZE - sizeof(COPY_NAME_MARK) + 1], name[COPY_NAME_SIZE];
	char longer[sizeof(longest) + 1];

	(void)state;
	check_kept("x", "x");
	check_kept("d/x.txt", "d∕x.txt");
	check_kept("a∕b.txt", "a∕b~12-ab.txt");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	check_kept(longest, longest);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	copy_name_make_kept(name, longer, strlen(longer), 0x12, 0xab);
	assert_int_equal(strlen(name), COPY_NAME_SIZE - 1);
	assert_string_equal(name + strlen(name) - strlen("xx~12-ab"), "xx~12-ab");
	copy_name_make_kept(name, "(kept) x", strlen("(kept) x"), 0x12, 0xab);
	assert_string_equal(name, "(kept) (kept) x~12-ab");
}

static void test_path_almost_like_a_short_form_is_plain(void **state)
{
	(void)state;
	assert_plain("x~1-2x", "x~1-2x");
	assert_plain("x~01-2", "x~01-2");
	assert_plain("x~1-A", "x~1-A");
	assert_plain("x~1-", "x~1-");
	assert_plain("x~-1", "x~-1");
	assert_plain("x~1-2.", "x~1-2.");
	assert_plain("x~1-12345678901234567", "x~1-12345678901234567");
	assert_plain("x~1-2.longer-than-that", "x~1-2.longer-than-that");
	assert_plain("x~1-2~", "x~1-2~");
	assert_plain("backup~", "backup~");
}

static void test_extension_follows_the_id_only_if_it_is_short(void **state)
{
	(void)state;
	assert_short("∕.bashrc", "∕" ID ".bashrc");
	assert_short("d∕/.bashrc", "d∕∕.bashrc" ID);
	assert_short("∕x.", "∕x." ID);
	assert_short("∕x.123456789012345", "∕x" ID ".123456789012345");
	assert_short("∕x.1234567890123456", "∕x.1234567890123456" ID);
	assert_short("∕x.dir/y", "∕x.dir∕y" ID);
	/* an extension that looks like an id is before the id */
	assert_short("∕x.a~1-2", "∕x.a~1-2" ID);
	assert_short("∕x.a~b", "∕x.a~b" ID);
}

static void test_cut_name_ends_with_a_whole_character(void **state)
{
	static const char *const characters[] = {"é", "€", "😀"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		size_t length = strlen(characters[i]);

		for (size_t offset = 0; offset < length; offset++) {
			char path[1024];
			const char *name;
			size_t used = 0;

			memset(path, 'x', offset);
			for (used = offset; used < 600; used += length)
				memcpy(path + used, characters[i], length);
			path[used] = '\0';
			name = make(path);
			assert_int_equal((strlen(name) - strlen(ID) - offset) % length, 0);
			assert_true(strlen(name) > 255 - length);
			assert_memory_equal(name, path, strlen(name) - strlen(ID));
		}
	}
}

static void test_bytes_that_are_not_utf8_are_cut_anywhere(void **state)
{
	char path[601];
	const char *name;

	(void)state;
	memset(path, 0x80, 600);
	path[600] = '\0';
	name = make(path);
	assert_int_equal(strlen(name), 255);
	memset(path, 0xff, 600);
	name = make(path);
	assert_int_equal(strlen(name), 255);
}

static void test_largest_id_fits(void **state)
{
	char name[COPY_NAME_SIZE];
	uint64_t dir, cookie;

	(void)state;
	copy_name_make(name, long_path("", ".123456789012345", 400), 400, UINT64_MAX, UINT64_MAX);
	assert_int_equal(strlen(name), 255);
	assert_true(copy_name_parse_short(name, &dir, &cookie));
	assert_int_equal(dir, UINT64_MAX);
	assert_int_equal(cookie, UINT64_MAX);
}

/* Makes the names of a million random paths, whose parts exercise all rules. Each name must be
 * valid and be decoded to its path or id. */
static void test_name_of_any_path_is_decoded_to_its_path_or_id(void **state)
{
	static const char *const pieces[] = {"/",    "∕", "~",    "1",    "f",    "-",    ".",
					     "~1-2", "é", "\xe2", "\x88", "\x95", "\xff", "xyz"};
	unsigned int seed = 1;

	(void)state;
	for (int round = 0; round < 1000000; round++) {
		char path[2048] = "", back[COPY_NAME_SIZE];
		uint64_t dir, cookie;
		int count = 1 + rand_r(&seed) % (round % 10 == 0 ? 300 : 8);
		const char *name;
		size_t used = 0;

		for (int i = 0; i < count; i++)
			used += (size_t)snprintf(path + used, sizeof(path) - used, "%s",
						 pieces[rand_r(&seed) % 14]);
		name = make(path);
		assert_in_range(strlen(name), 1, 255);
		assert_null(strchr(name, '/'));
		if (copy_name_parse_short(name, &dir, &cookie)) {
			assert_int_equal(dir, DIR_ID);
			assert_int_equal(cookie, COOKIE);
		} else {
			(void)copy_name_parse_plain(name, back);
			assert_string_equal(back, path);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slashes_become_division_slashes),
		cmocka_unit_test(test_name_that_just_fits_is_plain),
		cmocka_unit_test(test_longer_name_is_cut_before_its_id),
		cmocka_unit_test(test_path_longer_than_any_name_is_cut_after_its_beginning),
		cmocka_unit_test(test_path_with_a_division_slash_has_the_short_form),
		cmocka_unit_test(test_path_like_a_short_form_has_the_short_form),
		cmocka_unit_test(test_path_with_the_mark_has_the_short_form),
		cmocka_unit_test(test_kept_copy_has_a_mark_before_its_name),
		cmocka_unit_test(test_path_almost_like_a_short_form_is_plain),
		cmocka_unit_test(test_extension_follows_the_id_only_if_it_is_short),
		cmocka_unit_test(test_cut_name_ends_with_a_whole_character),
		cmocka_unit_test(test_bytes_that_are_not_utf8_are_cut_anywhere),
		cmocka_unit_test(test_largest_id_fits),
		cmocka_unit_test(test_name_of_any_path_is_decoded_to_its_path_or_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
