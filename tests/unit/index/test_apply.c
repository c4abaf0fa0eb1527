/* SPDX-License-Identifier: MIT */
#include "index/audit.h"
#include "index/colliding.h"
#include "index/paths.h"

/* ---- names --------------------------------------------------------------------------- */

static void test_odd_names_are_kept_byte_by_byte(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = {"\n", "\x1b[31m", "\xff\xfe", "a~2", "%2F", " ", "\t"};
	char longest[NAME_BYTES_MAX + 1];

	memset(longest, '\xee', NAME_BYTES_MAX);
	longest[NAME_BYTES_MAX] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add_file(f, f->roots[0], names[i], file_of(20 + i, 1, 0));
	add_file(f, f->roots[0], longest, file_of(50, 1, 0));
	fixture_commit(f);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(file_at(f, id_at(f, f->roots[0], names[i])).attributes.inode,
				 20 + i);
	assert_int_equal(file_at(f, id_at(f, f->roots[0], longest)).attributes.inode, 50);
	audit_index(f->catalog);
}

static void add_colliding(struct fixture *f, unsigned int number, struct colliding *name)
{
	add_file(f, f->roots[0], "", file_of(100 + number, 1, 0));
	f->changes[f->count - 1].name = colliding_name(f, number, name);
}

static void assert_colliding_are_found(const struct fixture *f, unsigned int first,
				       unsigned int end)
{
	struct colliding name;

	for (unsigned int i = 0; i < ENTRY_COOKIE_SLOTS; i++) {
		uint64_t id = id_of_name(f, f->roots[0], colliding_name(f, i, &name));

		assert_int_equal(id != 0, i >= first && i < end);
		if (id)
			assert_int_equal(file_at(f, id).attributes.inode, 100 + i);
	}
	audit_index(f->catalog);
}

static void test_names_of_equal_hash_are_distinguished(void **state)
{
	struct fixture *f = *state;
	struct colliding names[ENTRY_COOKIE_SLOTS];

	for (unsigned int i = 0; i < 5; i++)
		add_colliding(f, i, &names[i]);
	fixture_commit(f);
	assert_colliding_are_found(f, 0, 5);
	for (unsigned int i = 5; i < ENTRY_COOKIE_SLOTS; i++) {
		add_colliding(f, i, &names[i]);
		fixture_commit(f);
	}
	assert_colliding_are_found(f, 0, ENTRY_COOKIE_SLOTS);
	for (unsigned int i = 0; i < 9; i++)
		remove_this(f, f->roots[0], colliding_name(f, i, &names[i]));
	fixture_commit(f);
	assert_colliding_are_found(f, 9, ENTRY_COOKIE_SLOTS);
	add_colliding(f, 8, &names[8]);
	fixture_commit(f);
	assert_colliding_are_found(f, 8, ENTRY_COOKIE_SLOTS);
}

static void test_too_many_names_of_equal_hash_are_refused(void **state)
{
	struct fixture *f = *state;
	struct colliding names[ENTRY_COOKIE_SLOTS + 1];
	uint64_t generation = totals_of(f).generation;

	for (unsigned int i = 0; i <= ENTRY_COOKIE_SLOTS; i++)
		add_colliding(f, i, &names[i]);
	assert_int_equal(fixture_commit_code(f), -EEXIST);
	assert_int_equal(totals_of(f).generation, generation);
	assert_colliding_are_found(f, 0, 0);
}

/* ---- reused inode numbers ------------------------------------------------------------ */

static struct attributes born_later(struct attributes attributes)
{
	attributes.btime.tv_sec += 100;
	return attributes;
}

static void test_inode_number_used_again_is_another_file(void **state)
{
	struct fixture *f = *state;
	uint64_t old, new;

	add_file(f, f->roots[0], "old", file_of(10, 100, 0));
	fixture_commit(f);
	old = id_at(f, f->roots[0], "old");
	add_file(f, f->roots[0], "new", born_later(file_of(10, 100, 0)));
	fixture_commit(f);
	new = id_at(f, f->roots[0], "new");
	assert_int_not_equal(new, old);
	audit_index(f->catalog);
	remove_name(f, f->roots[0], "old");
	fixture_commit(f);
	assert_false(purge_orphans(f, 10));
	audit_index(f->catalog);
	add_file(f, f->roots[0], "link", born_later(file_of(10, 100, 0)));
	fixture_commit(f);
	assert_int_equal(id_at(f, f->roots[0], "link"), new);
	audit_index(f->catalog);
}

/* The walk lists a file that is then removed. A new file gets its inode number and is also listed,
 * before the first file is in the index. */
static void test_inode_number_used_again_within_one_batch_is_another_file(void **state)
{
	struct fixture *f = *state;
	uint64_t old, new;

	add_file(f, f->roots[0], "a", file_of(10, 100, 0));
	add_file(f, f->roots[0], "b", born_later(file_of(10, 100, 0)));
	add_file(f, f->roots[1], "a", file_of(10, 100, 0));
	add_file(f, f->roots[1], "b", born_later(file_of(10, 100, 0)));
	fixture_commit(f);
	old = id_at(f, f->roots[0], "a");
	new = id_at(f, f->roots[0], "b");
	assert_int_not_equal(old, new);
	assert_int_equal(id_at(f, f->roots[1], "a"), old);
	assert_int_equal(id_at(f, f->roots[1], "b"), new);
	audit_index(f->catalog);
	remove_name(f, f->roots[0], "a");
	remove_name(f, f->roots[1], "a");
	fixture_commit(f);
	assert_false(purge_orphans(f, 10));
	audit_index(f->catalog);
}

/* ---- removals ------------------------------------------------------------------------ */

static void test_removed_name_can_be_added_in_the_same_batch(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	add_file(f, f->roots[0], "a", file_of(10, 100, 0));
	fixture_commit(f);
	id = id_at(f, f->roots[0], "a");
	add_file(f, f->roots[0], "a", file_of(11, 50, 0));
	add_file(f, f->roots[0], "b", file_of(10, 100, 0));
	remove_name(f, f->roots[0], "a");
	fixture_commit(f);
	assert_int_equal(id_at(f, f->roots[0], "b"), id);
	assert_int_equal(file_at(f, id_at(f, f->roots[0], "a")).attributes.size, 50);
	audit_index(f->catalog);
}

#define DEEP 20000

static void test_tree_deeper_than_any_stack_is_removed(void **state)
{
	struct fixture *f = *state;
	uint64_t dir = add_dir(f, f->roots[0], "deep"), path_dir;
	struct catalog_reader *reader;
	struct bytes path CLEANUP_BYTES = {0};
	uint32_t source;

	for (int i = 1; i < DEEP; i++) {
		dir = add_dir(f, dir, "d");
		if (f->count == FIXTURE_CHANGES_MAX)
			fixture_commit(f);
	}
	fixture_commit(f);
	path_dir = dir;
	reader = fixture_read(f);
	assert_int_equal(catalog_dir_path(reader, path_dir, &path, &source), 0);
	catalog_read_end(reader);
	assert_int_equal(path.length, 4 + 2 * (DEEP - 1));
	remove_name(f, f->roots[0], "deep");
	fixture_commit(f);
	assert_int_equal(totals_of(f).directories, 2);
	audit_index(f->catalog);
}

/* ---- updates ------------------------------------------------------------------------- */

static void update_dir(struct fixture *f, uint64_t dir, uint32_t flags, int error)
{
	struct name_change *change = fixture_change(f, NAME_UPDATE_DIR);

	change->id = dir;
	change->flags = flags;
	change->error = error;
	change->attributes = dir_of(4711);
	fixture_commit(f);
}

static void test_update_of_a_removed_record_changes_nothing(void **state)
{
	struct fixture *f = *state;
	uint64_t dir = add_dir(f, f->roots[0], "dir"), file;

	add_file(f, dir, "file", file_of(10, 100, 0));
	fixture_commit(f);
	file = id_at(f, dir, "file");
	remove_name(f, f->roots[0], "dir");
	fixture_commit(f);
	update_file(f, file, file_of(10, 200, 1)); /* an orphan now */
	update_dir(f, dir, 0, EIO);
	audit_index(f->catalog);
	assert_false(purge_orphans(f, 10));
	update_file(f, file, file_of(10, 300, 2));
	update_dir(f, dir, 0, EIO);
	audit_index(f->catalog);
	assert_int_equal(totals_of(f).files, 0);
}

/* ---- transactions -------------------------------------------------------------------- */

static void test_failed_batch_changes_nothing(void **state)
{
	struct fixture *f = *state;
	struct catalog_totals before;

	add_file(f, f->roots[0], "a", file_of(10, 100, 0));
	fixture_commit(f);
	before = totals_of(f);
	remove_name(f, f->roots[0], "a");
	add_file(f, f->roots[0], "b", file_of(11, 100, 0));
	fixture_cancel(f);
	assert_true(id_at(f, f->roots[0], "a") != 0);
	assert_int_equal(id_at(f, f->roots[0], "b"), 0);
	assert_int_equal(totals_of(f).generation, before.generation);
	audit_index(f->catalog);
	fixture_commit(f);
	assert_true(id_at(f, f->roots[0], "b") != 0);
	audit_index(f->catalog);
}

static void test_empty_batch_makes_no_generation(void **state)
{
	struct fixture *f = *state;
	uint64_t generation = totals_of(f).generation;

	fixture_commit(f);
	assert_int_equal(totals_of(f).generation, generation);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_odd_names_are_kept_byte_by_byte),
		CASE(test_names_of_equal_hash_are_distinguished),
		CASE(test_too_many_names_of_equal_hash_are_refused),
		CASE(test_inode_number_used_again_is_another_file),
		CASE(test_inode_number_used_again_within_one_batch_is_another_file),
		CASE(test_removed_name_can_be_added_in_the_same_batch),
		CASE(test_tree_deeper_than_any_stack_is_removed),
		CASE(test_update_of_a_removed_record_changes_nothing),
		CASE(test_failed_batch_changes_nothing),
		CASE(test_empty_batch_makes_no_generation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
