/* SPDX-License-Identifier: MIT */

/* Moves of directories. */

#include "index/audit.h"
#include "index/paths.h"

/* Checks the index by the audit of the tests and by the check of twinfs. */
static void assert_sound(const struct fixture *f)
{
	assert_consistent(f);
	audit_index(f->catalog);
}

static void assert_path(const struct fixture *f, uint64_t dir, const char *expected)
{
	struct catalog_reader *reader = fixture_read(f);
	struct bytes path CLEANUP_BYTES = {0};
	uint32_t source;

	assert_int_equal(catalog_dir_path(reader, dir, &path, &source), 0);
	catalog_read_end(reader);
	assert_string_equal(bytes_text(&path), expected);
}

static bool has_dir(const struct fixture *f, uint64_t id)
{
	struct catalog_reader *reader = fixture_read(f);
	struct dir_record dir;
	int r = catalog_get_dir(reader, id, &dir);

	catalog_read_end(reader);
	assert_true(r == 0 || r == -ENOENT);
	return r == 0;
}

/* Checks that the batch is refused and that the index is unchanged. */
static void assert_refused(struct fixture *f, int code)
{
	uint64_t generation = totals_of(f).generation;

	assert_int_equal(fixture_commit_code(f), code);
	assert_int_equal(totals_of(f).generation, generation);
	assert_sound(f);
}

static void test_directory_is_renamed_in_its_parent(void **state)
{
	struct fixture *f = *state;
	uint64_t dir = new_dir(f, f->roots[0], "a");

	move_dir(f, dir, f->roots[0], "b");
	fixture_commit(f);
	assert_path(f, dir, "b");
	move_dir(f, dir, f->roots[0], "b");
	fixture_commit(f);
	assert_path(f, dir, "b");
	assert_sound(f);
}

static void test_directories_swap_names(void **state)
{
	struct fixture *f = *state;
	uint64_t a = new_dir(f, f->roots[0], "a"), b = new_dir(f, f->roots[0], "b");
	uint64_t in_a = new_dir(f, a, "in a"), in_b = new_dir(f, b, "in b");

	move_dir(f, a, f->roots[0], "b");
	move_dir(f, b, f->roots[0], "a");
	fixture_commit(f);
	assert_path(f, in_a, "b/in a");
	assert_path(f, in_b, "a/in b");
	assert_sound(f);
}

static void test_directory_does_not_move_into_itself(void **state)
{
	struct fixture *f = *state;
	uint64_t a = new_dir(f, f->roots[0], "a"), b = new_dir(f, a, "b"), c = new_dir(f, b, "c");
	uint64_t other = new_dir(f, f->roots[0], "other");

	move_dir(f, a, c, "a");
	assert_refused(f, -ELOOP);
	move_dir(f, a, a, "a");
	assert_refused(f, -ELOOP);
	/* two directories that contain each other, and a third directory in one of them */
	move_dir(f, other, a, "other");
	move_dir(f, a, b, "a");
	move_dir(f, b, a, "b");
	assert_refused(f, -ELOOP);
	assert_path(f, c, "a/b/c");
}

static void test_move_replaces_the_entry_of_its_name(void **state)
{
	struct fixture *f = *state;
	uint64_t moved = new_dir(f, f->roots[0], "moved");
	uint64_t displaced = new_dir(f, f->roots[0], "place"), below = new_dir(f, displaced, "d");

	add_file(f, below, "file", file_of(10, 100, 0));
	add_file(f, f->roots[0], "file", file_of(11, 100, 0));
	fixture_commit(f);
	move_dir(f, moved, f->roots[0], "place");
	fixture_commit(f);
	assert_path(f, moved, "place");
	assert_false(has_dir(f, displaced));
	assert_false(has_dir(f, below));
	assert_int_equal(totals_of(f).files, 1);
	assert_sound(f);
	move_dir(f, moved, f->roots[0], "file");
	fixture_commit(f);
	assert_int_equal(totals_of(f).files, 0);
	assert_sound(f);
}

static void test_last_move_of_a_directory_counts(void **state)
{
	struct fixture *f = *state;
	uint64_t dir = new_dir(f, f->roots[0], "dir"), other = new_dir(f, f->roots[0], "other");

	move_dir(f, dir, other, "x");
	move_dir(f, dir, f->roots[0], "y");
	move_dir(f, other, f->roots[0], "y");
	fixture_commit(f);
	assert_path(f, other, "y"); /* the last directory that moved to this name */
	assert_false(has_dir(f, dir));
	assert_sound(f);
}

static void test_directory_moved_into_a_removed_one_is_removed(void **state)
{
	struct fixture *f = *state;
	uint64_t dir = new_dir(f, f->roots[0], "dir"), below = new_dir(f, dir, "below");
	uint64_t parent = new_dir(f, f->roots[0], "parent"), second = new_dir(f, parent, "second");

	add_file(f, below, "file", file_of(10, 100, 0));
	fixture_commit(f);
	move_dir(f, dir, second, "dir");
	remove_name(f, f->roots[0], "parent");
	add_file(f, below, "late", file_of(11, 100, 0));
	add_file(f, below, "link", file_of(10, 100, 0));
	fixture_commit(f);
	assert_false(has_dir(f, dir));
	assert_false(has_dir(f, below));
	assert_int_equal(totals_of(f).directories, 2);
	assert_int_equal(totals_of(f).files, 0);
	assert_sound(f);
}

static void test_directory_moves_into_a_new_one(void **state)
{
	struct fixture *f = *state;
	uint64_t dir = new_dir(f, f->roots[0], "dir"), new, newer;

	move_dir(f, dir, 0, "moved");
	new = add_dir(f, f->roots[0], "dir");
	newer = add_dir(f, new, "newer");
	f->changes[0].dir = newer;
	add_file(f, dir, "file", file_of(10, 100, 0));
	fixture_commit(f);
	assert_path(f, dir, "dir/newer/moved");
	assert_int_not_equal(id_at(f, dir, "file"), 0);
	assert_sound(f);
}

static void test_names_added_to_a_removed_directory_are_removed(void **state)
{
	struct fixture *f = *state;
	uint64_t dir = new_dir(f, f->roots[0], "dir"), new;

	remove_name(f, f->roots[0], "dir");
	new = add_dir(f, dir, "new");
	add_file(f, new, "file", file_of(10, 100, 0));
	add_file(f, dir, "link", file_of(10, 100, 0));
	add_file(f, f->roots[0], "other", file_of(11, 100, 0));
	fixture_commit(f);
	assert_int_equal(totals_of(f).directories, 2);
	assert_int_equal(totals_of(f).files, 1);
	assert_sound(f);
}

static void test_move_that_does_not_fit_the_index_is_refused(void **state)
{
	struct fixture *f = *state;
	uint64_t dir = new_dir(f, f->roots[0], "dir");

	move_dir(f, dir + 1000, f->roots[0], "unknown");
	assert_refused(f, -ESTALE);
	move_dir(f, f->roots[0], dir, "root");
	assert_refused(f, -ESTALE);
	move_dir(f, dir, f->roots[1], "to the other source");
	f->changes[0].source = 1;
	assert_refused(f, -ESTALE);
	move_dir(f, dir, f->roots[1], "to the other source");
	assert_refused(f, -ESTALE);
	assert_path(f, dir, "dir");
}

static void test_removal_of_another_child_leaves_this_one(void **state)
{
	struct fixture *f = *state;
	uint64_t dir = new_dir(f, f->roots[0], "dir");

	add_unknown(f, f->roots[0], "unknown", EIO);
	fixture_commit(f);
	remove_name(f, f->roots[0], "dir");
	f->changes[0].id = dir + 1;
	remove_name(f, f->roots[0], "unknown");
	f->changes[1].id = EIO;
	fixture_commit(f);
	assert_int_equal(id_at(f, f->roots[0], "dir"), dir);
	assert_int_equal(id_at(f, f->roots[0], "unknown"), EIO);
	remove_name(f, f->roots[0], "dir");
	f->changes[0].id = dir;
	remove_name(f, f->roots[0], "unknown");
	fixture_commit(f);
	assert_false(has_dir(f, dir));
	assert_int_equal(id_at(f, f->roots[0], "unknown"), 0);
	assert_sound(f);
}

#define DEEP 1000

static void test_deep_tree_moves_as_a_whole(void **state)
{
	struct fixture *f = *state;
	uint64_t top = new_dir(f, f->roots[0], "t"), to = new_dir(f, f->roots[0], "to"), dir = top;
	char expected[DEEP * 2 + 8] = "to/m";

	for (size_t i = 0; i < DEEP; i++) {
		dir = add_dir(f, dir, "d");
		if (f->count == FIXTURE_CHANGES_MAX)
			fixture_commit(f);
		memcpy(expected + 4 + i * 2, "/d", 3);
	}
	fixture_commit(f);
	move_dir(f, top, to, "m");
	fixture_commit(f);
	assert_path(f, dir, expected);
	assert_sound(f);
	move_dir(f, to, dir, "to");
	assert_refused(f, -ELOOP);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_directory_is_renamed_in_its_parent),
		CASE(test_directories_swap_names),
		CASE(test_directory_does_not_move_into_itself),
		CASE(test_move_replaces_the_entry_of_its_name),
		CASE(test_last_move_of_a_directory_counts),
		CASE(test_directory_moved_into_a_removed_one_is_removed),
		CASE(test_directory_moves_into_a_new_one),
		CASE(test_names_added_to_a_removed_directory_are_removed),
		CASE(test_move_that_does_not_fit_the_index_is_refused),
		CASE(test_removal_of_another_child_leaves_this_one),
		CASE(test_deep_tree_moves_as_a_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
