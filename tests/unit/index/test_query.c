/* SPDX-License-Identifier: MIT */
#include "index/audit.h"
#include "index/paths.h"

static const struct hash128 hash = {1, 2};

static const char *path_of(const struct fixture *f, uint64_t id, uint32_t *source)
{
	static struct bytes path;
	struct catalog_reader *reader = fixture_read(f);
	struct file_record file;

	path.length = 0;
	assert_int_equal(bytes_append_text(&path, "before:"), 0);
	assert_int_equal(catalog_get_file(reader, id, &file), 0);
	assert_int_equal(catalog_file_path(reader, &file, &path, source), 0);
	catalog_read_end(reader);
	return bytes_text(&path);
}

static void test_path_of_a_file_is_its_first_name_by_source_and_path(void **state)
{
	static const struct {
		int root;
		const char *name, *expected;
	} steps[] = {
		{1, "a", "before:a"}, {1, "b", "before:a"},  {0, "z", "before:z"},
		{0, "y", "before:y"}, {0, "yy", "before:y"}, {0, "x\xff", "before:x\xff"},
		{0, "x", "before:x"}, {1, "0", "before:x"},
	};
	struct fixture *f = *state;
	uint32_t source;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		uint64_t dir = f->roots[steps[i].root];

		add_file(f, dir, steps[i].name, file_of(10, 100, 0));
		fixture_commit(f);
		assert_string_equal(path_of(f, id_at(f, dir, steps[i].name), &source),
				    steps[i].expected);
		assert_int_equal(source, i < 2 ? 1 : 0);
	}
}

static void test_paths_are_put_together_from_their_names(void **state)
{
	struct fixture *f = *state;
	uint64_t one = add_dir(f, f->roots[1], "one"), two = add_dir(f, one, "two\n");
	struct bytes path CLEANUP_BYTES = {0};
	struct catalog_reader *reader;
	struct entry_record entry;
	uint32_t source = 9;

	add_file(f, two, "file", file_of(10, 100, 0));
	fixture_commit(f);
	assert_string_equal(path_of(f, id_at(f, two, "file"), &source), "before:one/two\n/file");
	assert_int_equal(source, 1);
	reader = fixture_read(f);
	assert_int_equal(catalog_dir_path(reader, f->roots[0], &path, &source), 0);
	assert_string_equal(bytes_text(&path), "");
	assert_int_equal(source, 0);
	assert_int_equal(catalog_dir_path(reader, two, &path, &source), 0);
	assert_string_equal(bytes_text(&path), "one/two\n");
	assert_int_equal(catalog_find_entry(reader, one, name_of("two\n"), &entry), 0);
	path.length = 0;
	assert_int_equal(catalog_entry_path(reader, one, entry.cookie, &path, &source), 0);
	assert_string_equal(bytes_text(&path), "one/two\n");
	assert_int_equal(catalog_entry_path(reader, one, entry.cookie + 1, &path, &source),
			 -ENOENT);
	assert_int_equal(catalog_dir_path(reader, 999999, &path, &source), -ENOENT);
	catalog_read_end(reader);
}

static void test_orphan_has_no_path(void **state)
{
	struct bytes path CLEANUP_BYTES = {0};
	struct fixture *f = *state;
	struct catalog_reader *reader;
	struct file_record file;
	uint32_t source;
	uint64_t id;

	add_file(f, f->roots[0], "a", file_of(10, 100, 0));
	fixture_commit(f);
	id = id_at(f, f->roots[0], "a");
	remove_name(f, f->roots[0], "a");
	fixture_commit(f);
	file = file_at(f, id);
	reader = fixture_read(f);
	assert_int_equal(catalog_file_path(reader, &file, &path, &source), -ENOENT);
	catalog_read_end(reader);
}

static void test_all_members_of_a_visible_group_but_the_kept_one_are_redundant(void **state)
{
	static const char *const names[] = {"a", "b", "c", "d"};
	struct fixture *f = *state;
	struct catalog_reader *reader;
	struct group_record group;
	uint64_t ids[4], id;
	bool redundant;

	for (size_t i = 0; i < 4; i++)
		add_file(f, f->roots[0], names[i], file_of(10 + i, 100, 0));
	fixture_commit(f);
	for (size_t i = 0; i < 4; i++)
		ids[i] = id_at(f, f->roots[0], names[i]);
	id = add_group(f, hash, ids, 2);
	add_group(f, hash, ids + 2, 1); /* not visible */
	reader = fixture_read(f);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(catalog_is_redundant(reader, ids[i], &redundant, &group), 0);
		assert_int_equal(redundant, i == 1);
		assert_int_equal(group.id, i < 2 ? id : 0);
	}
	assert_int_equal(catalog_is_redundant(reader, 999999, &redundant, &group), 0);
	assert_false(redundant);
	catalog_read_end(reader);
}

/* ---- listings ------------------------------------------------------------------------ */

#define NAMES 300

/* Lists the directory in pieces of this many names. Checks that each name is listed once. */
static void assert_listed_in_pieces(const struct fixture *f, uint64_t dir, size_t piece)
{
	uint64_t after = 0, seen = 0, before;
	struct entry_record entry;

	do {
		struct catalog_reader *reader = fixture_read(f);
		struct catalog_scan *scan = NULL;

		before = seen;
		assert_int_equal(catalog_scan_entries(reader, dir, after, &scan), 0);
		for (size_t i = 0; i < piece && catalog_next_entry(scan, &entry) == 0; i++) {
			assert_int_equal(entry.dir, dir);
			assert_true(entry.cookie > after);
			after = entry.cookie;
			seen++;
		}
		catalog_scan_end(scan);
		catalog_read_end(reader);
	} while (seen > before);
	assert_int_equal(seen, NAMES);
}

static void test_listing_continues_after_any_cookie(void **state)
{
	struct fixture *f = *state;
	static char names[NAMES][8];
	uint64_t dir = add_dir(f, f->roots[0], "dir");

	for (size_t i = 0; i < NAMES; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%zu", i);
		add_file(f, dir, names[i], file_of(100 + i, 1, 0));
		if (i % 100 == 99)
			fixture_commit(f);
	}
	add_file(f, add_dir(f, f->roots[0], "next"), "other", file_of(1, 1, 0));
	fixture_commit(f);
	assert_listed_in_pieces(f, dir, 1);
	assert_listed_in_pieces(f, dir, 7);
	assert_listed_in_pieces(f, dir, 1000);
}

static void test_names_that_stay_are_listed_once_while_others_change(void **state)
{
	struct fixture *f = *state;
	static char names[NAMES][8];
	unsigned int seen[NAMES] = {0};
	uint64_t after = 0;
	struct entry_record entry;

	for (size_t i = 0; i < NAMES; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%zu", i);
		if (i % 3)
			add_file(f, f->roots[0], names[i], file_of(100 + i, 1, 0));
	}
	fixture_commit(f);
	for (size_t i = 0; i < NAMES; i++) {
		struct catalog_reader *reader = fixture_read(f);
		struct catalog_scan *scan = NULL;
		int r;

		assert_int_equal(catalog_scan_entries(reader, f->roots[0], after, &scan), 0);
		r = catalog_next_entry(scan, &entry);
		if (r == 0) {
			char text[8] = "";

			memcpy(text, entry.name.bytes, entry.name.length);
			seen[strtol(text, NULL, 10)]++;
			after = entry.cookie;
		}
		catalog_scan_end(scan);
		catalog_read_end(reader);
		if (i % 3 == 0)
			add_file(f, f->roots[0], names[i], file_of(100 + i, 1, 0));
		else if (i % 3 == 1)
			remove_name(f, f->roots[0], names[i]);
		fixture_commit(f);
	}
	for (size_t i = 0; i < NAMES; i++)
		assert_true(seen[i] <= 1 && (i % 3 != 2 || seen[i] == 1));
	audit_index(f->catalog);
}

static void test_links_of_a_file_are_listed_without_its_first_name(void **state)
{
	struct fixture *f = *state;
	static char names[50][8];
	struct catalog_scan *scan = NULL;
	struct catalog_reader *reader;
	uint64_t id, ids[49], seen = 0;
	struct file_name link;

	for (size_t i = 0; i < 50; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%zu", i);
		add_file(f, f->roots[i % 2], names[i], file_of(10, 1, 0));
	}
	add_file(f, f->roots[0], "other", file_of(11, 1, 0));
	fixture_commit(f);
	id = id_at(f, f->roots[0], "0");
	reader = fixture_read(f);
	assert_int_equal(catalog_scan_links(reader, id, &scan), 0);
	for (; catalog_next_link(scan, &link) == 0; seen++) {
		assert_true(seen < ARRAY_SIZE(ids) && link.file == id);
		ids[seen] = link.id;
		for (size_t i = 0; i < seen; i++)
			assert_true(ids[i] != link.id);
	}
	catalog_scan_end(scan);
	catalog_read_end(reader);
	assert_int_equal(seen, 49); /* all but the first */
}

static void test_members_and_groups_are_listed_from_anywhere(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[20], first, group, id = 0, seen = 0;
	struct catalog_scan *scan = NULL;
	struct catalog_reader *reader;
	struct group_record record;

	new_files(f, 7, ids, 20);
	first = add_group(f, hash, ids, 10);
	group = add_group(f, hash, ids + 10, 10);
	reader = fixture_read(f);
	assert_int_equal(catalog_scan_members(reader, group, ids[15], &scan), 0);
	while (catalog_next_member(scan, &id) == 0)
		assert_int_equal(id, ids[16 + seen++]);
	assert_int_equal(seen, 4);
	catalog_scan_end(scan);
	assert_int_equal(catalog_scan_groups(reader, first, &scan), 0);
	assert_int_equal(catalog_next_group(scan, &record), 0);
	assert_int_equal(record.id, group);
	assert_int_equal(catalog_next_group(scan, &record), -ENOENT);
	catalog_scan_end(scan);
	catalog_scan_end(NULL);
	catalog_read_end(reader);
}

static void test_files_and_sizes_are_listed_from_anywhere(void **state)
{
	struct fixture *f = *state;
	struct size_entry from = {.size = 7}, entry;
	uint64_t small[20], large[20], seen, group;
	struct catalog_scan *scan = NULL;
	struct catalog_reader *reader;
	struct file_record file;

	new_files(f, 6, small, 20);
	new_files(f, 8, large, 20);
	group = add_group(f, hash, large, 10);
	reader = fixture_read(f);
	assert_int_equal(catalog_scan_files(reader, large[18], &scan), 0);
	assert_int_equal(catalog_next_file(scan, &file), 0);
	assert_int_equal(file.id, large[19]);
	assert_int_equal(catalog_next_file(scan, &file), -ENOENT);
	catalog_scan_end(scan);
	assert_int_equal(catalog_scan_sizes(reader, &from, &scan), 0);
	for (seen = 0; catalog_next_size(scan, &entry) == 0; seen++) {
		assert_int_equal(entry.size, 8);
		assert_int_equal(entry.prefix, seen < 10 ? 0 : 77);
		assert_int_equal(entry.group, seen < 10 ? 0 : group);
		assert_int_equal(entry.file, large[seen < 10 ? 10 + seen : seen - 10]);
	}
	assert_int_equal(seen, 20);
	catalog_scan_end(scan);
	/* after the members of the group */
	from = (struct size_entry){8, 77, group, UINT64_MAX};
	assert_int_equal(catalog_scan_sizes(reader, &from, &scan), 0);
	assert_int_equal(catalog_next_size(scan, &entry), -ENOENT);
	catalog_scan_end(scan);
	catalog_read_end(reader);
}

static void commit(void *fixture)
{
	fixture_commit(fixture);
}

static void test_snapshot_does_not_have_later_commits(void **state)
{
	struct fixture *f = *state;
	struct catalog_reader *reader = fixture_read(f);
	struct catalog_totals totals;
	struct entry_record entry;

	add_file(f, f->roots[0], "new", file_of(10, 1, 0));
	run_in_thread(commit, f); /* a thread with a snapshot must not write */
	assert_int_equal(catalog_find_entry(reader, f->roots[0], name_of("new"), &entry), -ENOENT);
	assert_int_equal(catalog_get_totals(reader, &totals), 0);
	assert_int_equal(totals.files, 0);
	catalog_read_end(reader);
	assert_true(id_at(f, f->roots[0], "new") != 0);
}

static void test_path_is_found_name_by_name(void **state)
{
	struct fixture *f = *state;
	uint64_t one = add_dir(f, f->roots[1], "one"), two = add_dir(f, one, "two");
	struct catalog_reader *reader;
	struct entry_record entry;

	add_file(f, two, "file", file_of(10, 100, 0));
	fixture_commit(f);
	reader = fixture_read(f);
	assert_int_equal(catalog_find_path(reader, f->roots[1], "one", &entry), 0);
	assert_true(entry.kind == ENTRY_DIR && entry.child == one);
	assert_int_equal(catalog_find_path(reader, f->roots[1], "one/two/file", &entry), 0);
	assert_true(entry.kind == ENTRY_FILE && entry.dir == two);
	assert_int_equal(catalog_find_path(reader, f->roots[1], "one/two/file/x", &entry), -ENOENT);
	assert_int_equal(catalog_find_path(reader, f->roots[1], "one/tw", &entry), -ENOENT);
	assert_int_equal(catalog_find_path(reader, f->roots[0], "one", &entry), -ENOENT);
	catalog_read_end(reader);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_path_of_a_file_is_its_first_name_by_source_and_path),
		CASE(test_paths_are_put_together_from_their_names),
		CASE(test_path_is_found_name_by_name),
		CASE(test_orphan_has_no_path),
		CASE(test_all_members_of_a_visible_group_but_the_kept_one_are_redundant),
		CASE(test_listing_continues_after_any_cookie),
		CASE(test_names_that_stay_are_listed_once_while_others_change),
		CASE(test_links_of_a_file_are_listed_without_its_first_name),
		CASE(test_members_and_groups_are_listed_from_anywhere),
		CASE(test_files_and_sizes_are_listed_from_anywhere),
		CASE(test_snapshot_does_not_have_later_commits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
