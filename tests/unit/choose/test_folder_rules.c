/* SPDX-License-Identifier: MIT */
/* The rules of choose/rules.h for groups of folders. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choose/rules.h"
#include "index/source.h"
#include "unit_test.h"

/* A folder of a group, COPY_ROOT for the root of the source. */
struct given_folder {
	uint32_t source;
	const char *path;
};

/* Returns the path of the kept folder of two, and the reason. */
static const char *decide(const struct given_folder given[2], const struct rules *rules)
{
	static char one[] = "/one", two[] = "/two";
	static char text[1024];
	CLEANUP_COPIES struct copies copies = {.folders = true};
	struct copy list[2] = {0};
	struct source source_list[] = {{.path = one, .fd = -1}, {.path = two, .fd = -1}};
	const struct sources sources = {.list = source_list, .count = 2};

	for (size_t i = 0; i < 2; i++) {
		list[i] = (struct copy){.file = i + 1, .source = given[i].source};
		list[i].path = copies.paths.length;
		list[i].lead = list[i].path;
		list[i].lead_source = list[i].source;
		assert_int_equal(bytes_append(&copies.paths, given[i].path,
					      strlen(given[i].path) + 1),
				 0);
	}
	copies.list = malloc(sizeof(list));
	assert_non_null(copies.list);
	memcpy(copies.list, list, sizeof(list));
	copies.count = 2;
	assert_int_equal(rules_apply(rules, &sources, &(struct group_record){.id = 1}, &copies), 0);
	(void)snprintf(text, sizeof(text), "%s: %s", copy_path(&copies, &copies.list[0]),
		       copies.list[0].why);
	return text;
}

#define FOLDERS(source, path, other_source, other_path) \
	(const struct given_folder[])                   \
	{                                               \
		{source, path},                         \
		{                                       \
			other_source, other_path        \
		}                                       \
	}

static void test_folder_that_contains_a_protected_path_stays(void **state)
{
	(void)state;
	static char file_path[] = "/one/b/c/file";
	char *file[] = {file_path, NULL};
	static char sibling_path[] = "/one/bb/file";
	char *sibling[] = {sibling_path, NULL};
	const struct given_folder *folders = FOLDERS(0, "a", 0, "b");

	assert_string_equal(decide(folders, &(struct rules){.protect = file}),
			    "b: contains what is protected");
	assert_string_equal(decide(folders, &(struct rules){.protect = sibling}), "a: first path");
}

static void test_root_that_contains_a_protected_path_stays(void **state)
{
	(void)state;
	static char file_path[] = "/two/c/file";
	char *file[] = {file_path, NULL};
	static char root_path[] = "/two";
	char *root[] = {root_path, NULL};
	const struct given_folder *folders = FOLDERS(0, COPY_ROOT, 1, COPY_ROOT);

	assert_string_equal(decide(folders, &(struct rules){.protect = file}),
			    ".: contains what is protected");
	assert_string_equal(decide(folders, &(struct rules){.protect = root}), ".: protected");
}

static void test_folder_is_selected_only_as_a_whole(void **state)
{
	(void)state;
	static char inner_path[] = "/one/b/c";
	char *inner[] = {inner_path, NULL};
	static char whole_path[] = "/one/a";
	char *whole[] = {whole_path, NULL};
	const struct given_folder *folders = FOLDERS(0, "a", 0, "b");

	assert_string_equal(decide(folders, &(struct rules){.only = inner}), "a: first path");
	assert_string_equal(decide(folders, &(struct rules){.only = whole}),
			    "b: outside of --only");
}

static void test_root_of_a_source_has_the_length_of_its_path(void **state)
{
	(void)state;
	CLEANUP_KEEP_RULES struct keep_rules keep = {0};

	assert_int_equal(keep_rules_add(&keep, KEEP_LONGEST_PATH, NULL), 0);
	assert_string_equal(decide(FOLDERS(0, COPY_ROOT, 1, "b"), &(struct rules){.keep = &keep}),
			    "b: longest path");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folder_that_contains_a_protected_path_stays),
		cmocka_unit_test(test_root_that_contains_a_protected_path_stays),
		cmocka_unit_test(test_folder_is_selected_only_as_a_whole),
		cmocka_unit_test(test_root_of_a_source_has_the_length_of_its_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
