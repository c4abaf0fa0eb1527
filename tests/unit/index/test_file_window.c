/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "index/audit.h"
#include "index/query.h"

#define FILES 10

static void add_files(struct fixture *f, uint64_t ids[FILES])
{
	char name[2] = "a";

	for (uint64_t i = 0; i < FILES; i++, name[0]++) {
		ids[i] = new_file(f, f->roots[0], name, file_of(10 + i, 100 + i, 0));
		(void)add_dir(f, f->roots[1], name); /* takes an id in between */
	}
	fixture_commit(f);
}

static void test_record_of_a_window_is_that_of_a_lookup(void **state)
{
	struct fixture *f = *state;
	struct file_record expected, got;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct file_window window = {0};
	uint64_t ids[FILES];

	add_files(f, ids);
	assert_int_equal(catalog_read_begin(f->catalog, &reader), 0);
	assert_int_equal(file_window_fill(&window, reader, ids[1], ids[FILES - 2], FILES - 2), 0);
	assert_int_equal(window.count, ids[FILES - 2] - ids[1] + 1);
	for (size_t i = 0; i < FILES; i++) { /* the first and the last one are outside */
		memset(&expected, 0, sizeof(expected));
		memset(&got, 0, sizeof(got));
		assert_int_equal(catalog_get_file(reader, ids[i], &expected), 0);
		assert_int_equal(file_window_get(&window, reader, ids[i], &got), 0);
		assert_memory_equal(&got, &expected, sizeof(got));
	}
	assert_int_equal(file_window_get(&window, reader, f->roots[0], &got), -ENOENT);
	for (uint64_t id = ids[1]; id < ids[2]; id++)
		assert_int_equal(file_window_get(&window, reader, id, &got),
				 catalog_get_file(reader, id, &expected));
	file_window_free(&window);
}

static void test_range_with_few_wanted_files_is_not_read(void **state)
{
	struct fixture *f = *state;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct file_window window = {0};
	struct file_record got;
	uint64_t ids[FILES];

	add_files(f, ids);
	assert_int_equal(catalog_read_begin(f->catalog, &reader), 0);
	assert_int_equal(file_window_fill(&window, reader, ids[0], ids[9], FILES), 0);
	assert_true(window.count > 0);
	assert_int_equal(file_window_fill(&window, reader, ids[0], ids[0] + 1000, FILES), 0);
	assert_int_equal(window.count, 0);
	assert_int_equal(file_window_fill(&window, reader, 1, UINT64_MAX, SIZE_MAX), 0);
	assert_int_equal(window.count, 0);
	assert_int_equal(file_window_fill(&window, reader, UINT64_MAX, 0, 0), 0);
	assert_int_equal(window.count, 0);
	assert_int_equal(file_window_get(&window, reader, ids[3], &got), 0);
	file_window_free(&window);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_record_of_a_window_is_that_of_a_lookup),
		CASE(test_range_with_few_wanted_files_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
