/* SPDX-License-Identifier: MIT */

/* The table of directories that have redundant copies in them; test_model.c has it change at
 * random. */

#include "catalog/audit.h"

static const struct hash128 hash = {1, 2};

/* Two copies, the second one with a link, all in the first source:
 *
 *	a  top/link  top/below/b  top/empty/
 */
struct tree {
	struct fixture *f;
	uint64_t root, top, below, empty;
	uint64_t kept, copy;
	uint64_t group;
};

static int setup(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	fixture_setup((void **)&t->f);
	t->root = t->f->roots[0];
	t->top = add_dir(t->f, t->root, "top");
	t->below = add_dir(t->f, t->top, "below");
	t->empty = add_dir(t->f, t->top, "empty");
	add_file(t->f, t->root, "a", file_of(10, 100, 0));
	add_file(t->f, t->below, "b", file_of(11, 100, 0));
	add_file(t->f, t->top, "link", file_of(11, 100, 0));
	fixture_commit(t->f);
	t->kept = id_at(t->f, t->root, "a");
	t->copy = id_at(t->f, t->below, "b");
	t->group = add_group(t->f, hash, (uint64_t[]){t->kept, t->copy}, 2);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct tree *t = *state;

	fixture_teardown((void **)&t->f);
	free(t);
	return 0;
}

static uint64_t held(const struct tree *t, uint64_t dir)
{
	struct catalog_reader *reader = fixture_read(t->f);
	uint64_t count;

	assert_int_equal(catalog_count_redundant(reader, dir, &count), 0);
	catalog_read_end(reader);
	return count;
}

static void expect(const struct tree *t, uint64_t root, uint64_t top, uint64_t below)
{
	assert_int_equal(held(t, t->root), root);
	assert_int_equal(held(t, t->top), top);
	assert_int_equal(held(t, t->below), below);
	assert_int_equal(held(t, t->empty), 0);
	audit_index(t->f->catalog);
}

static void test_each_name_counts_in_its_directory_and_each_directory_above(void **state)
{
	const struct tree *t = *state;

	expect(t, 1, 2, 1); /* top; link and below; b */
}

static void test_a_name_more_or_less_of_a_redundant_file_counts(void **state)
{
	struct tree *t = *state;

	add_file(t->f, t->below, "another", file_of(11, 100, 0));
	add_file(t->f, t->root, "another", file_of(11, 100, 0));
	fixture_commit(t->f);
	expect(t, 2, 2, 2);
	remove_name(t->f, t->below, "b"); /* its first name */
	remove_name(t->f, t->below, "another");
	fixture_commit(t->f);
	expect(t, 2, 1, 0);
}

static void test_names_of_the_kept_file_do_not_count(void **state)
{
	struct tree *t = *state;

	add_file(t->f, t->empty, "kept", file_of(10, 100, 0));
	fixture_commit(t->f);
	expect(t, 1, 2, 1);
}

static void test_a_copy_that_becomes_the_kept_one_counts_no_longer(void **state)
{
	struct tree *t = *state;

	add_file(t->f, t->empty, "third", file_of(12, 100, 0));
	fixture_commit(t->f);
	assert_int_equal(set_content(t->f, id_at(t->f, t->empty, "third"), t->group), 0);
	assert_int_equal(held(t, t->empty), 1);
	remove_name(t->f, t->root, "a");
	fixture_commit(t->f);
	assert_int_equal(group_at(t->f, t->group).kept, t->copy);
	assert_int_equal(held(t, t->root), 1);
	assert_int_equal(held(t, t->top), 1);
	assert_int_equal(held(t, t->below), 0);
	assert_int_equal(held(t, t->empty), 1);
	audit_index(t->f->catalog);
}

static void test_a_file_that_changes_while_it_gets_and_loses_names_counts_no_longer(void **state)
{
	struct tree *t = *state;

	touch_file(t->f, t->copy);
	remove_name(t->f, t->below, "b");
	add_file(t->f, t->empty, "elsewhere", file_of(11, 100, 0));
	fixture_commit(t->f);
	expect(t, 0, 0, 0);
}

static void test_a_file_that_is_renamed_counts_where_it_is_now(void **state)
{
	struct tree *t = *state;

	remove_name(t->f, t->below, "b");
	remove_name(t->f, t->top, "link");
	add_file(t->f, t->root, "renamed", file_of(11, 100, 0));
	t->f->changes[2].flags = FILE_SAME_BYTES | FILE_MOVED;
	fixture_commit(t->f);
	expect(t, 1, 0, 0);
}

static void test_a_directory_takes_what_it_holds_along(void **state)
{
	struct tree *t = *state;

	move_dir(t->f, t->below, t->root, "moved");
	fixture_commit(t->f);
	expect(t, 2, 1, 1);
	remove_name(t->f, t->top, "link");
	fixture_commit(t->f);
	expect(t, 1, 0, 1);
	move_dir(t->f, t->below, t->top, "below");
	fixture_commit(t->f);
	expect(t, 1, 1, 1);
}

static void test_directories_may_change_places(void **state)
{
	struct tree *t = *state;

	remove_name(t->f, t->top, "link");
	fixture_commit(t->f);
	move_dir(t->f, t->below, t->root, "top");
	move_dir(t->f, t->top, t->below, "below");
	fixture_commit(t->f);
	expect(t, 1, 0, 1);
}

static void test_a_directory_that_empties_while_it_moves_counts_nowhere(void **state)
{
	struct tree *t = *state;

	touch_file(t->f, t->copy);
	move_dir(t->f, t->below, t->empty, "moved");
	fixture_commit(t->f);
	expect(t, 0, 0, 0);
}

static void test_a_directory_that_goes_leaves_no_count(void **state)
{
	struct tree *t = *state;

	remove_name(t->f, t->root, "top");
	fixture_commit(t->f);
	expect(t, 0, 0, 0);
}

static void test_what_moved_out_of_a_directory_that_goes_still_counts(void **state)
{
	struct tree *t = *state;

	move_dir(t->f, t->below, t->root, "moved");
	remove_name(t->f, t->root, "top");
	fixture_commit(t->f);
	expect(t, 1, 0, 1);
}

static void test_a_group_that_dissolves_leaves_no_count(void **state)
{
	struct tree *t = *state;

	(void)begin_scan(t->f, 1000);
	expect(t, 0, 0, 0);
}

static void test_an_orphan_counts_again_when_it_comes_back(void **state)
{
	struct tree *t = *state;

	remove_name(t->f, t->below, "b");
	remove_name(t->f, t->top, "link");
	fixture_commit(t->f);
	expect(t, 0, 0, 0);
	add_file(t->f, t->below, "b", file_of(11, 100, 0));
	fixture_commit(t->f);
	expect(t, 1, 1, 1);
	remove_name(t->f, t->below, "b");
	fixture_commit(t->f);
	assert_false(purge_orphans(t->f, 10));
	expect(t, 0, 0, 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_each_name_counts_in_its_directory_and_each_directory_above),
		CASE(test_a_name_more_or_less_of_a_redundant_file_counts),
		CASE(test_names_of_the_kept_file_do_not_count),
		CASE(test_a_copy_that_becomes_the_kept_one_counts_no_longer),
		CASE(test_a_file_that_changes_while_it_gets_and_loses_names_counts_no_longer),
		CASE(test_a_file_that_is_renamed_counts_where_it_is_now),
		CASE(test_a_directory_takes_what_it_holds_along),
		CASE(test_directories_may_change_places),
		CASE(test_a_directory_that_empties_while_it_moves_counts_nowhere),
		CASE(test_a_directory_that_goes_leaves_no_count),
		CASE(test_what_moved_out_of_a_directory_that_goes_still_counts),
		CASE(test_a_group_that_dissolves_leaves_no_count),
		CASE(test_an_orphan_counts_again_when_it_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
