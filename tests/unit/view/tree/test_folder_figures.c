/* SPDX-License-Identifier: MIT */
#include "fixture.h"
#include "view/tree/caches.h"

static int know_folders(struct catalog_writer *writer, void *context)
{
	(void)context;
	return catalog_know_folders(writer);
}

/* Adds two equal folders, "one" and "two", with a file of 5 bytes. Returns the id of "two". */
static uint64_t add_twins(struct fixture *fixture)
{
	struct attributes pair[2];
	uint64_t dirs[2];

	for (int i = 0; i < 2; i++) {
		dirs[i] = fixture_add_dir(fixture, root_of(fixture), i ? "two" : "one", 0);
		pair[i] = fixture_file(fixture, S_IFREG | 0644, 5);
		fixture_add_file(fixture, dirs[i], "file", &pair[i]);
	}
	(void)fixture_add_group(fixture, group_hash, pair, 2);
	assert_int_equal(catalog_write(fixture->catalog, know_folders, NULL), 0);
	return dirs[1];
}

static void check_figures(struct fixture *fixture, uint64_t groups, uint64_t redundant,
			  uint64_t bytes)
{
	struct catalog_reader *reader;
	struct catalog_totals totals;
	struct folder_figures figures;

	assert_int_equal(catalog_read_begin(fixture->catalog, &reader), 0);
	assert_int_equal(catalog_get_totals(reader, &totals), 0);
	assert_int_equal(folder_figures_get(&fixture->view.folders, reader, &totals, &figures), 0);
	assert_true(figures.groups == groups && figures.redundant == redundant &&
		    figures.redundant_bytes == bytes);
	catalog_read_end(reader);
}

static void test_figures_follow_the_folder_groups(void **state)
{
	struct fixture fixture;
	uint64_t dir;

	(void)state;
	fixture_open(&fixture, one_source);
	check_figures(&fixture, 0, 0, 0);
	dir = add_twins(&fixture);
	check_figures(&fixture, 1, 1, 5);
	(void)fixture_add_dir(&fixture, root_of(&fixture), "three", 0);
	check_figures(&fixture, 1, 1, 5);
	(void)fixture_add_dir(&fixture, dir, "more", 0);
	check_figures(&fixture, 0, 0, 0);
	fixture_remove(&fixture, dir, "more");
	check_figures(&fixture, 1, 1, 5);
	fixture_close(&fixture);
}

static void test_figures_that_took_long_are_used_for_a_while(void **state)
{
	struct fixture fixture;
	uint64_t dir;

	(void)state;
	fixture_open(&fixture, one_source);
	dir = add_twins(&fixture);
	check_figures(&fixture, 1, 1, 5);
	fixture.view.folders.valid_until_ns = UINT64_MAX;
	(void)fixture_add_dir(&fixture, dir, "more", 0);
	check_figures(&fixture, 1, 1, 5);
	fixture.view.folders.valid_until_ns = 1;
	check_figures(&fixture, 0, 0, 0);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures_follow_the_folder_groups),
		cmocka_unit_test(test_figures_that_took_long_are_used_for_a_while),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
