/* SPDX-License-Identifier: MIT */

/* The groups of equal directories. test_model.c recounts them after random changes. */

#include "index/colliding.h"
#include "index/known_folders.h"

/* Two directories, "a" and "b", and the known folder groups. */
struct case_state {
	struct fixture *f;
	uint64_t a, b;
	uint64_t inode; /* the next one */
};

static int case_setup(void **state)
{
	struct case_state *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	fixture_setup((void **)&p->f);
	p->inode = 1000;
	p->a = new_dir(p->f, p->f->roots[0], "a");
	p->b = new_dir(p->f, p->f->roots[0], "b");
	know_folders(p->f);
	*state = p;
	return 0;
}

static int case_teardown(void **state)
{
	struct case_state *p = *state;

	assert_consistent(p->f);
	fixture_teardown((void **)&p->f);
	free(p);
	return 0;
}

static uint64_t folder_group(const struct case_state *p, uint64_t dir)
{
	struct catalog_reader *reader = fixture_read(p->f);
	uint64_t group;

	assert_int_equal(catalog_find_folder_group(reader, dir, &group), 0);
	catalog_read_end(reader);
	return group;
}

static bool are_equal(const struct case_state *p, uint64_t a, uint64_t b)
{
	uint64_t group = folder_group(p, a);

	assert_consistent(p->f);
	return group && group == folder_group(p, b);
}

static struct folder_group folder_group_of(const struct case_state *p, uint64_t dir)
{
	uint64_t id = folder_group(p, dir);
	struct catalog_reader *reader = fixture_read(p->f);
	struct folder_group group = {0};

	assert_int_equal(catalog_get_folder_group(reader, id, &group), 0);
	catalog_read_end(reader);
	return group;
}

/* Adds a file of this name to each of two directories, with equal bytes. */
static void add_copies(struct case_state *p, uint64_t a, uint64_t b, const char *name)
{
	uint64_t ids[] = {new_file(p->f, a, name, file_of(p->inode, 100, 0)),
			  new_file(p->f, b, name, file_of(p->inode + 1, 100, 0))};

	(void)add_group(p->f, (struct hash128){p->inode, 1}, ids, 2);
	p->inode += 2;
}

/* Adds a name of this type. target: of a symlink; or NULL */
static void add_special(struct case_state *p, uint64_t dir, const char *name, mode_t type,
			const char *target)
{
	struct attributes attributes = file_of(p->inode++, 4, 0);

	attributes.mode = type | 0777;
	add_file(p->f, dir, name, attributes);
	if (target)
		p->f->changes[p->f->count - 1].target = name_of(target);
	fixture_commit(p->f);
}

static void test_empty_directories_are_equal(void **state)
{
	struct case_state *p = *state;

	assert_true(are_equal(p, p->a, p->b));
	assert_int_equal(folder_group_of(p, p->a).folders, 3); /* and the second source */
	assert_int_equal(folder_group_of(p, p->a).bytes, 0);
}

static void test_names_and_contents_decide(void **state)
{
	struct case_state *p = *state;

	(void)new_file(p->f, p->a, "f", file_of(10, 100, 0));
	assert_false(are_equal(p, p->a, p->b));
	(void)new_file(p->f, p->b, "f", file_of(11, 100, 0));
	assert_false(are_equal(p, p->a, p->b)); /* unread */
	(void)add_group(p->f, (struct hash128){1, 2},
			(uint64_t[]){id_at(p->f, p->a, "f"), id_at(p->f, p->b, "f")}, 2);
	assert_true(are_equal(p, p->a, p->b));
	assert_int_equal(folder_group_of(p, p->a).files, 1);
	assert_int_equal(folder_group_of(p, p->a).bytes, 100);
	touch_file(p->f, id_at(p->f, p->b, "f"));
	fixture_commit(p->f);
	assert_false(are_equal(p, p->a, p->b));
}

static void test_copies_under_different_names_are_not_equal(void **state)
{
	struct case_state *p = *state;

	add_file(p->f, p->a, "one", file_of(10, 100, 0));
	add_file(p->f, p->b, "two", file_of(11, 100, 0));
	fixture_commit(p->f);
	(void)add_group(p->f, (struct hash128){1, 2},
			(uint64_t[]){id_at(p->f, p->a, "one"), id_at(p->f, p->b, "two")}, 2);
	assert_false(are_equal(p, p->a, p->b));
}

static void test_one_unread_inode_equals_itself(void **state)
{
	struct case_state *p = *state;

	(void)new_file(p->f, p->a, "f", file_of(10, 100, 0));
	(void)new_file(p->f, p->b, "f", file_of(10, 100, 0));
	assert_true(are_equal(p, p->a, p->b));
	remove_and_commit(p->f, p->b, "f");
	assert_false(are_equal(p, p->a, p->b));
}

static void test_empty_files_are_equal(void **state)
{
	struct case_state *p = *state;

	(void)new_file(p->f, p->a, "f", file_of(10, 0, 0));
	(void)new_file(p->f, p->b, "f", file_of(11, 0, 0));
	assert_true(are_equal(p, p->a, p->b));
}

static void test_targets_of_symlinks_decide(void **state)
{
	struct case_state *p = *state;

	add_special(p, p->a, "l", S_IFLNK, "there");
	add_special(p, p->b, "l", S_IFLNK, "there");
	assert_true(are_equal(p, p->a, p->b));
	remove_and_commit(p->f, p->b, "l");
	add_special(p, p->b, "l", S_IFLNK, "other");
	assert_false(are_equal(p, p->a, p->b));
	remove_and_commit(p->f, p->a, "l");
	remove_and_commit(p->f, p->b, "l");
	add_special(p, p->a, "l", S_IFLNK, NULL); /* both targets are unknown */
	add_special(p, p->b, "l", S_IFLNK, NULL);
	assert_false(are_equal(p, p->a, p->b));
}

static void test_types_of_special_files_decide(void **state)
{
	struct case_state *p = *state;

	add_special(p, p->a, "s", S_IFIFO, NULL);
	add_special(p, p->b, "s", S_IFSOCK, NULL);
	assert_false(are_equal(p, p->a, p->b));
	remove_and_commit(p->f, p->b, "s");
	add_special(p, p->b, "s", S_IFIFO, NULL);
	assert_true(are_equal(p, p->a, p->b));
}

static void test_change_below_parts_all_folders_above(void **state)
{
	struct case_state *p = *state;
	uint64_t in_a = new_dir(p->f, p->a, "sub"), in_b = new_dir(p->f, p->b, "sub");

	add_copies(p, in_a, in_b, "f");
	assert_true(are_equal(p, in_a, in_b));
	assert_true(are_equal(p, p->a, p->b));
	(void)new_file(p->f, in_b, "more", file_of(10, 100, 0));
	assert_false(are_equal(p, in_a, in_b));
	assert_false(are_equal(p, p->a, p->b));
	remove_and_commit(p->f, in_b, "more");
	assert_true(are_equal(p, p->a, p->b));
}

static void test_third_folder_joins_and_the_others_stay(void **state)
{
	struct case_state *p = *state;
	uint64_t c, group;

	add_copies(p, p->a, p->b, "f");
	group = folder_group(p, p->a);
	c = new_dir(p->f, p->f->roots[1], "c");
	add_copies(p, p->a, c, "g");
	assert_false(are_equal(p, p->a, p->b));
	remove_and_commit(p->f, p->a, "g");
	remove_and_commit(p->f, c, "g");
	assert_true(are_equal(p, p->a, p->b));
	assert_int_not_equal(folder_group(p, p->a), group); /* ids are not reused */
	assert_int_equal(folder_group(p, c), 0); /* it has no file */
}

static void test_moved_folder_stays_in_its_group(void **state)
{
	struct case_state *p = *state;
	uint64_t group;

	add_copies(p, p->a, p->b, "f");
	group = folder_group(p, p->a);
	move_dir(p->f, p->b, p->f->roots[0], "elsewhere");
	fixture_commit(p->f);
	assert_true(are_equal(p, p->a, p->b));
	assert_int_equal(folder_group(p, p->a), group);
}

/* Returns the rank of a directory's group, in bytes. */
static uint64_t rank_of(const struct case_state *p, uint64_t dir)
{
	assert_consistent(p->f);
	return folder_group_of(p, dir).ranked;
}

static void test_groups_with_bytes_are_ranked(void **state)
{
	struct case_state *p = *state;
	struct rank_entry entry;
	struct catalog_scan *scan;
	struct catalog_reader *reader;

	assert_int_equal(rank_of(p, p->a), 0); /* three empty directories */
	add_copies(p, p->a, p->b, "f");
	assert_int_equal(rank_of(p, p->a), 100);
	add_copies(p, p->a, p->b, "g");
	assert_int_equal(rank_of(p, p->a), 200);
	assert_int_equal(totals_of(p->f).folder_groups, 1);
	reader = fixture_read(p->f);
	assert_int_equal(catalog_scan_folder_ranks(reader, NULL, &scan), 0);
	assert_int_equal(catalog_next_rank_entry(scan, &entry), 0);
	assert_int_equal(entry.reclaimable, 200);
	assert_int_equal(catalog_next_rank_entry(scan, &entry), -ENOENT);
	catalog_scan_end(scan);
	catalog_read_end(reader);
	assert_int_equal(entry.group, folder_group(p, p->a));
}

static void test_implied_groups_have_no_rank(void **state)
{
	struct case_state *p = *state;
	uint64_t in_a = new_dir(p->f, p->a, "sub"), in_b = new_dir(p->f, p->b, "sub");

	add_copies(p, in_a, in_b, "f");
	assert_int_equal(rank_of(p, p->a), 100);
	assert_int_equal(rank_of(p, in_a), 0);
	add_file(p->f, p->b, "more", file_of(10, 100, 0));
	fixture_commit(p->f);
	assert_int_equal(rank_of(p, in_a), 100);
	remove_and_commit(p->f, p->b, "more");
	assert_int_equal(rank_of(p, in_a), 0);
}

static void test_moved_folder_is_not_implied_any_more(void **state)
{
	struct case_state *p = *state;
	uint64_t in_a = new_dir(p->f, p->a, "sub"), in_b = new_dir(p->f, p->b, "sub");
	uint64_t target = new_dir(p->f, p->f->roots[0], "target");

	(void)new_file(p->f, target, "alone", file_of(10, 100, 0));
	add_copies(p, in_a, in_b, "f");
	assert_int_equal(rank_of(p, in_a), 0);
	move_dir(p->f, in_b, target, "sub");
	fixture_commit(p->f);
	assert_int_equal(rank_of(p, in_a), 100);
	move_dir(p->f, in_b, p->b, "sub");
	fixture_commit(p->f);
	assert_int_equal(rank_of(p, in_a), 0);
	assert_int_equal(rank_of(p, p->a), 100);
}

static void test_folder_that_leaves_a_removed_one_is_not_implied_any_more(void **state)
{
	struct case_state *p = *state;
	uint64_t in_a = new_dir(p->f, p->a, "sub"), in_b = new_dir(p->f, p->b, "sub");
	uint64_t target = new_dir(p->f, p->f->roots[0], "target");

	(void)new_file(p->f, target, "alone", file_of(10, 100, 0));
	add_copies(p, in_a, in_b, "f");
	add_copies(p, p->a, p->b, "g");
	move_dir(p->f, in_b, target, "sub");
	remove_name(p->f, p->f->roots[0], "b");
	fixture_commit(p->f);
	assert_int_equal(rank_of(p, in_a), 100);
}

static void test_folder_moves_and_changes_in_one_transaction(void **state)
{
	struct case_state *p = *state;
	uint64_t x = new_dir(p->f, p->f->roots[0], "x"), y = new_dir(p->f, p->f->roots[0], "y");
	uint64_t z = new_dir(p->f, y, "b");

	add_copies(p, p->a, p->b, "f");
	add_copies(p, p->a, z, "g");
	move_dir(p->f, p->b, x, "b");
	remove_name(p->f, p->b, "f");
	fixture_commit(p->f);
	assert_false(are_equal(p, p->a, p->b));
	assert_false(are_equal(p, x, y));
	remove_and_commit(p->f, z, "g");
	assert_true(are_equal(p, x, y)); /* each has an empty "b" */
}

static void test_faults_of_a_directory_part_it(void **state)
{
	struct case_state *p = *state;
	struct name_change *change;
	const struct {
		uint32_t flags;
		int error;
	} cases[] = {{DIR_PARTIAL, 0}, {DIR_NOT_SEARCHED, EACCES}, {0, EIO}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(are_equal(p, p->a, p->b));
		change = fixture_change(p->f, NAME_UPDATE_DIR);
		change->id = p->b;
		change->attributes = dir_of(p->b);
		change->flags = cases[i].flags;
		change->error = cases[i].error;
		fixture_commit(p->f);
		assert_false(are_equal(p, p->a, p->b));
		change = fixture_change(p->f, NAME_UPDATE_DIR);
		change->id = p->b;
		change->attributes = dir_of(p->b);
		fixture_commit(p->f);
	}
	assert_true(are_equal(p, p->a, p->b));
}

static void test_unknown_names_part_folders(void **state)
{
	struct case_state *p = *state;

	add_unknown(p->f, p->a, "u", EIO);
	add_unknown(p->f, p->b, "u", EIO);
	fixture_commit(p->f);
	assert_false(are_equal(p, p->a, p->b));
}

static void test_sources_can_be_equal(void **state)
{
	struct case_state *p = *state;

	remove_name(p->f, p->f->roots[0], "a");
	remove_name(p->f, p->f->roots[0], "b");
	fixture_commit(p->f);
	assert_true(are_equal(p, p->f->roots[0], p->f->roots[1]));
}

/* More names than a search for a witness examines. */
static void test_large_folders_are_counted(void **state)
{
	struct case_state *p = *state;
	char name[16];

	for (int i = 0; i < 600; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		(void)new_file(p->f, p->a, name, file_of(2000 + (uint64_t)i, 0, 0));
	}
	(void)new_file(p->f, p->a, "unequal", file_of(10, 100, 0));
	assert_false(are_equal(p, p->a, p->b));
	remove_and_commit(p->f, p->a, "unequal");
	for (int i = 0; i < 600; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		assert_false(are_equal(p, p->a, p->b));
		remove_and_commit(p->f, p->a, name);
	}
	assert_true(are_equal(p, p->a, p->b));
}

/* Returns whether the directory has a record. */
static bool has_record(struct case_state *p, uint64_t dir)
{
	struct catalog_reader *reader = fixture_read(p->f);
	struct folder_record folder;
	int r = catalog_get_folder(reader, dir, &folder);

	catalog_read_end(reader);
	assert_true(r == 0 || r == -ENOENT);
	return r == 0;
}

/* Adds empty files, which equal each other, to a directory. A search finds them before the name
 * "witness": their cookies are lower. */
static void add_before_witness(struct case_state *p, uint64_t dir, int first, int count)
{
	static char names[FIXTURE_CHANGES_MAX][16]; /* fixture_commit() reads them */
	struct catalog_reader *reader = fixture_read(p->f);
	uint64_t witness = catalog_name_cookie(reader, name_of("witness"));

	for (int i = 0, number = 0; i < first + count; number++) {
		(void)snprintf(names[i], sizeof(names[i]), "%d", number);
		if (catalog_name_cookie(reader, name_of(names[i])) < witness && i++ >= first)
			add_file(p->f, dir, names[i - 1], file_of(p->inode++, 0, 0));
	}
	catalog_read_end(reader);
}

/* Adds a directory with empty files and an unequal name in one transaction. */
static uint64_t add_with_witness(struct case_state *p, const char *name, int empty)
{
	uint64_t dir = add_dir(p->f, p->f->roots[0], name);

	add_before_witness(p, dir, 0, empty);
	(void)new_file(p->f, dir, "witness", file_of(p->inode++, 100, 0));
	return dir;
}

static void test_only_a_late_witness_has_a_record(void **state)
{
	struct case_state *p = *state;
	uint64_t early = add_with_witness(p, "early", 10);
	uint64_t late = add_with_witness(p, "late", 40);

	assert_false(has_record(p, early));
	assert_true(has_record(p, late));
	remove_and_commit(p->f, late, "witness");
	add_before_witness(p, early, 10, 30);
	fixture_commit(p->f);
	assert_true(has_record(p, early));
	assert_false(are_equal(p, early, late));
	remove_and_commit(p->f, early, "witness");
	assert_true(are_equal(p, early, late));
}

static void test_folder_without_a_record_loses_its_witness(void **state)
{
	struct case_state *p = *state;
	uint64_t early = add_with_witness(p, "early", 10);
	uint64_t other = add_with_witness(p, "other", 10);
	uint64_t ids[] = {id_at(p->f, early, "witness"), id_at(p->f, other, "witness")};

	assert_false(are_equal(p, early, other));
	(void)add_group(p->f, (struct hash128){1, 2}, ids, 2);
	assert_true(are_equal(p, early, other));
}

/* The next witness is found after so few names that a directory without a record would get none. */
static void test_record_gets_the_next_witness(void **state)
{
	struct case_state *p = *state;
	uint64_t late = add_with_witness(p, "late", 40);
	struct catalog_reader *reader = fixture_read(p->f);
	uint64_t witness = catalog_name_cookie(reader, name_of("witness"));
	char next[16];

	for (int i = 0; i == 0 || catalog_name_cookie(reader, name_of(next)) < witness; i++)
		(void)snprintf(next, sizeof(next), "next %d", i);
	catalog_read_end(reader);
	(void)new_file(p->f, late, next, file_of(p->inode++, 100, 0));
	remove_and_commit(p->f, late, "witness");
	assert_true(has_record(p, late));
	assert_consistent(p->f);
	remove_and_commit(p->f, late, next);
	assert_false(are_equal(p, late, p->a));
}

/* Adds an empty file whose name has the same hash as those of other numbers. */
static void add_colliding(struct case_state *p, uint64_t dir, unsigned int number, mode_t type)
{
	struct attributes attributes = file_of(p->inode++, 0, 0);
	struct colliding text;

	attributes.mode = type | 0600;
	add_file(p->f, dir, "", attributes);
	p->f->changes[p->f->count - 1].name = colliding_name(p->f, number, &text);
	fixture_commit(p->f);
}

static void remove_colliding(struct case_state *p, uint64_t dir, unsigned int number)
{
	struct colliding text;

	remove_this(p->f, dir, colliding_name(p->f, number, &text));
	fixture_commit(p->f);
}

/* Two directories list names of one hash in different orders. */
static void test_names_of_equal_hash_are_compared_in_any_order(void **state)
{
	struct case_state *p = *state;

	for (unsigned int i = 0; i < 4; i++) {
		add_colliding(p, p->a, i, S_IFREG);
		add_colliding(p, p->b, 3 - i, S_IFREG);
	}
	assert_true(are_equal(p, p->a, p->b));
	remove_colliding(p, p->b, 1);
	assert_false(are_equal(p, p->a, p->b));
	add_colliding(p, p->b, 4, S_IFREG);
	assert_false(are_equal(p, p->a, p->b));
	remove_colliding(p, p->b, 4);
	add_colliding(p, p->b, 1, S_IFIFO);
	assert_false(are_equal(p, p->a, p->b));
	remove_colliding(p, p->b, 1);
	add_colliding(p, p->b, 1, S_IFREG);
	assert_true(are_equal(p, p->a, p->b));
	add_copies(p, p->a, p->b, "after"); /* names that do not collide */
	add_colliding(p, p->a, 5, S_IFREG);
	assert_false(are_equal(p, p->a, p->b));
	remove_colliding(p, p->a, 0);
	remove_colliding(p, p->b, 0);
	add_colliding(p, p->b, 5, S_IFREG);
	assert_true(are_equal(p, p->a, p->b));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, case_setup, case_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_empty_directories_are_equal),
		CASE(test_names_and_contents_decide),
		CASE(test_copies_under_different_names_are_not_equal),
		CASE(test_one_unread_inode_equals_itself),
		CASE(test_empty_files_are_equal),
		CASE(test_targets_of_symlinks_decide),
		CASE(test_types_of_special_files_decide),
		CASE(test_change_below_parts_all_folders_above),
		CASE(test_third_folder_joins_and_the_others_stay),
		CASE(test_moved_folder_stays_in_its_group),
		CASE(test_groups_with_bytes_are_ranked),
		CASE(test_implied_groups_have_no_rank),
		CASE(test_moved_folder_is_not_implied_any_more),
		CASE(test_folder_that_leaves_a_removed_one_is_not_implied_any_more),
		CASE(test_folder_moves_and_changes_in_one_transaction),
		CASE(test_faults_of_a_directory_part_it),
		CASE(test_unknown_names_part_folders),
		CASE(test_sources_can_be_equal),
		CASE(test_large_folders_are_counted),
		CASE(test_only_a_late_witness_has_a_record),
		CASE(test_folder_without_a_record_loses_its_witness),
		CASE(test_record_gets_the_next_witness),
		CASE(test_names_of_equal_hash_are_compared_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
