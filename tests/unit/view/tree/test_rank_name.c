/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/text.h"
#include "unit_test.h"
#include "view/tree/names.h"
#include "view/tree/rank_text.h"

static char name[RANK_NAME_SIZE];

static const char *link_name(uint64_t groups, uint64_t rank, const struct group_record *group,
			     const char *file)
{
	const struct rank_layout layout = rank_layout_of(groups);

	rank_name_make(name, &layout,
		       &(struct ranked_group){
			       .rank = rank,
			       .reclaimable = group_reclaimable(group),
			       .copies = group->inodes,
			       .name = {file, (uint32_t)strlen(file)},
		       });
	return name;
}

static const char *folder_name(uint64_t groups, uint64_t folder)
{
	const struct rank_layout layout = rank_layout_of(groups);

	rank_folder_name_make(name, &layout, folder);
	return name;
}

static const struct group_record pair = {.size = 700, .inodes = 2};

static void test_name_has_rank_size_copies_and_file(void **state)
{
	const struct group_record large = {.size = UINT64_C(429496730), .inodes = 4};

	(void)state;
	assert_string_equal(link_name(12, 1, &large, "holiday.mp4"),
			    RANK_TEXT("0001", "holiday.mp4", "4", "1.2", "GiB"));
	assert_string_equal(link_name(12, 12, &pair, "a b"),
			    RANK_TEXT("0012", "a b", "2", "700", "B"));
}

static void test_more_links_than_fit_in_one_folder_are_split(void **state)
{
	(void)state;
	assert_int_equal(rank_layout_of(0).folders, 0);
	assert_int_equal(rank_layout_of(RANKS_PER_FOLDER).folders, 0);
	assert_int_equal(rank_layout_of(RANKS_PER_FOLDER + 1).folders, 2);
	assert_int_equal(rank_layout_of(UINT64_C(3) * RANKS_PER_FOLDER).folders, 3);
	assert_string_equal(folder_name(2001, 1), "00001-02000");
	assert_string_equal(folder_name(2001, 2), "02001-04000");
	assert_string_equal(link_name(2001, 2001, &pair, "x"),
			    RANK_TEXT("02001", "x", "2", "700", "B"));
}

static void test_all_ranks_have_as_many_digits_as_the_last(void **state)
{
	(void)state;
	assert_string_equal(folder_name(98000, 49), "96001-98000");
	assert_string_equal(folder_name(98001, 1), "000001-002000");
	assert_string_equal(folder_name(98001, 50), "098001-100000");
	assert_string_equal(link_name(1000000, 1, &pair, "x"),
			    RANK_TEXT("0000001", "x", "2", "700", "B"));
}

static void test_long_names_are_cut_between_characters(void **state)
{
	char file[NAME_BYTES_MAX + 1] = "";
	uint32_t code;

	(void)state;
	for (size_t i = 0; i + 3 < sizeof(file); i += 3)
		(void)stpcpy(file + i, "\xe2\x82\xac"); /* U+20AC */
	(void)link_name(12, 1, &pair, file);
	assert_in_range(strlen(name), NAME_BYTES_MAX - 2, NAME_BYTES_MAX);
	for (size_t at = 0; name[at];) {
		size_t length = utf8_decode(name + at, strlen(name + at), &code);

		assert_true(length > 0);
		at += length;
	}
}

static void test_file_name_can_have_any_bytes(void **state)
{
	char file[NAME_BYTES_MAX + 1];

	(void)state;
	memset(file, 0xff, NAME_BYTES_MAX);
	file[NAME_BYTES_MAX] = '\0';
	assert_int_equal(strlen(link_name(12, 1, &pair, file)), NAME_BYTES_MAX);
	assert_string_equal(link_name(12, 1, &pair, "\n\x1b[0m"),
			    RANK_TEXT("0001", "\n\x1b[0m", "2", "700", "B"));
}

static void test_rank_is_parsed_from_the_beginning_of_a_name(void **state)
{
	(void)state;
	assert_int_equal(rank_name_parse(RANK_TEXT("0012", "x", "2", "700", "B")), 12);
	assert_int_equal(rank_name_parse("02001-04000"), 2001);
	assert_int_equal(rank_name_parse("x"), 0);
	assert_int_equal(rank_name_parse(""), 0);
	assert_int_equal(rank_name_parse("0000"), 0);
	assert_int_equal(rank_name_parse("18446744073709551615"), UINT64_MAX);
	assert_int_equal(rank_name_parse("18446744073709551616"), 0);
	assert_int_equal(rank_name_parse("99999999999999999999999999999999999"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name_has_rank_size_copies_and_file),
		cmocka_unit_test(test_more_links_than_fit_in_one_folder_are_split),
		cmocka_unit_test(test_all_ranks_have_as_many_digits_as_the_last),
		cmocka_unit_test(test_long_names_are_cut_between_characters),
		cmocka_unit_test(test_file_name_can_have_any_bytes),
		cmocka_unit_test(test_rank_is_parsed_from_the_beginning_of_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
