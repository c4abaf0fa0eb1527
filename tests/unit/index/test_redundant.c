/* SPDX-License-Identifier: MIT */

/* The counts of redundant names in directories. test_model.c recounts them after random changes. */

#include "index/audit.h"

static uint64_t count_in(const struct fixture *f, uint64_t dir)
{
	struct catalog_reader *reader = fixture_read(f);
	uint64_t count;

	assert_int_equal(catalog_count_redundant(reader, dir, &count), 0);
	catalog_read_end(reader);
	return count;
}

static void test_name_counts_in_its_directory_and_that_directory_in_its_parent(void **state)
{
	struct fixture *f = *state;
	uint64_t top = new_dir(f, f->roots[0], "top"), below = new_dir(f, top, "below");
	uint64_t empty = new_dir(f, top, "empty");
	uint64_t kept = new_file(f, f->roots[0], "a", file_of(10, 100, 0));
	uint64_t copy = new_file(f, below, "b", file_of(11, 100, 0));

	(void)new_file(f, top, "link", file_of(11, 100, 0));
	(void)add_group(f, (struct hash128){1, 2}, (uint64_t[]){kept, copy}, 2);
	assert_int_equal(count_in(f, f->roots[0]), 1); /* top */
	assert_int_equal(count_in(f, top), 2); /* link and below */
	assert_int_equal(count_in(f, below), 1); /* b */
	assert_int_equal(count_in(f, empty), 0);
	audit_index(f->catalog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_name_counts_in_its_directory_and_that_directory_in_its_parent,
			fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
