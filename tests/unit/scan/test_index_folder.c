/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/attributes.h"
#include "scan/index_folder.h"
#include "unit_test.h"

/* The name for up to two sources. */
static const char *name_for(const char *first, const char *second)
{
	static char names[4][INDEX_NAME_MAX];
	static size_t turn;
	char *name = names[turn++ % ARRAY_SIZE(names)];
	char *one = strdup(first);
	char *two = second != NULL ? strdup(second) : NULL;

	index_folder_name(name, (char *[]){one, two, NULL});
	free(one);
	free(two);
	return name;
}

static void test_name_is_that_of_the_first_source_and_a_hash(void **state)
{
	const char *name = name_for("/home/ann/Photos.2019", "/mnt/x");

	(void)state;
	assert_memory_equal(name, "Photos.2019-", strlen("Photos.2019-"));
	assert_int_equal(strlen(name), strlen("Photos.2019-") + 8);
	assert_int_equal(strspn(name + strlen("Photos.2019-"), "0123456789abcdef"), 8);
}

static void test_other_sources_and_orders_have_other_names(void **state)
{
	(void)state;
	assert_string_not_equal(name_for("/a", NULL), name_for("/x/a", NULL));
	assert_string_not_equal(name_for("/a", NULL), name_for("/a", "/b"));
	assert_string_not_equal(name_for("/a/b", "/c/b"), name_for("/c/b", "/a/b"));
	assert_string_not_equal(name_for("/ab", "/c"), name_for("/ab/c", NULL));
	assert_string_equal(name_for("/a", "/b"), name_for("/a", "/b"));
}

static void test_odd_bytes_are_replaced_and_long_names_cut(void **state)
{
	char path[512] = "/";
	const char *name;

	(void)state;
	memset(path + 1, 'x', sizeof(path) - 2);
	path[sizeof(path) - 1] = '\0';
	assert_true(strlen(name_for(path, NULL)) < INDEX_NAME_MAX);
	name = name_for("/a/-'\n \xff$(b)", NULL);
	assert_int_equal(strspn(name, "ab_0123456789cdef-"), strlen(name));
}

static void test_root_directory_has_a_name(void **state)
{
	(void)state;
	assert_memory_equal(name_for("/", NULL), "root-", strlen("root-"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name_is_that_of_the_first_source_and_a_hash),
		cmocka_unit_test(test_other_sources_and_orders_have_other_names),
		cmocka_unit_test(test_odd_bytes_are_replaced_and_long_names_cut),
		cmocka_unit_test(test_root_directory_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
