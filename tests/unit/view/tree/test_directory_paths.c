/* SPDX-License-Identifier: MIT */
#include "fixture.h"
#include "view/tree/caches.h"

/* Asserts that a directory has this path in a snapshot. */
static void assert_path(struct fixture *fixture, struct catalog_reader *reader, uint64_t dir,
			const char *expected)
{
	CLEANUP_BYTES struct bytes path = {0};
	uint32_t source = 7;

	assert_int_equal(bytes_append(&path, "before ", 7), 0);
	assert_int_equal(directory_paths_append(&fixture->view.directory_paths, reader, dir, &path,
						&source),
			 0);
	assert_string_equal(bytes_text(&path) + 7, expected);
	assert_int_equal(source, 0);
}

/* Renames a directory in the root. */
static void rename_dir(struct fixture *fixture, uint64_t dir, const char *name)
{
	struct name_change change = {
		.kind = NAME_MOVE_DIR,
		.id = dir,
		.dir = root_of(fixture),
		.name = fixture_name(name),
		.attributes = fixture_file(fixture, S_IFDIR | 0750, 4096),
	};

	fixture_apply(fixture, &change, 1);
}

static struct catalog_reader *begin(struct fixture *fixture)
{
	struct catalog_reader *reader;

	assert_int_equal(catalog_read_begin(fixture->catalog, &reader), 0);
	return reader;
}

/* The directory "old/d" in a snapshot of a thread that waits. */
struct older {
	struct fixture *fixture;
	struct catalog_reader *reader;
	uint64_t above, below;
};

/* Renames "old", and reads the older and a newer snapshot in turn. */
static void rename_and_compare(void *context)
{
	const struct older *older = context;
	struct fixture *fixture = older->fixture;
	struct catalog_reader *newer;

	rename_dir(fixture, older->above, "new");
	newer = begin(fixture);
	for (int i = 0; i < 3; i++) {
		assert_path(fixture, newer, older->below, "new/d");
		assert_path(fixture, newer, older->below, "new/d");
		assert_path(fixture, older->reader, older->below, "old/d");
		assert_path(fixture, older->reader, root_of(fixture), "");
	}
	catalog_read_end(newer);
}

static void test_directory_has_the_path_of_the_snapshot_that_is_read(void **state)
{
	struct fixture fixture;
	struct older older = {.fixture = &fixture};

	(void)state;
	fixture_open(&fixture, one_source);
	older.above = fixture_add_dir(&fixture, root_of(&fixture), "old", 0);
	older.below = fixture_add_dir(&fixture, older.above, "d", 0);
	older.reader = begin(&fixture);
	assert_path(&fixture, older.reader, older.below, "old/d");
	run_in_thread(rename_and_compare, &older);
	catalog_read_end(older.reader);
	fixture_close(&fixture);
}

static void test_long_path_is_looked_up_each_time(void **state)
{
	char name[201], path[2 * sizeof(name)];
	struct catalog_reader *reader;
	struct fixture fixture;
	uint64_t dir;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	(void)snprintf(path, sizeof(path), "%s/%s", name, name);
	fixture_open(&fixture, one_source);
	dir = fixture_add_dir(&fixture, root_of(&fixture), name, 0);
	dir = fixture_add_dir(&fixture, dir, name, 0);
	reader = begin(&fixture);
	assert_path(&fixture, reader, dir, path);
	assert_path(&fixture, reader, dir, path);
	catalog_read_end(reader);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directory_has_the_path_of_the_snapshot_that_is_read),
		cmocka_unit_test(test_long_path_is_looked_up_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
