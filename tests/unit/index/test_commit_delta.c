/* SPDX-License-Identifier: MIT */

/* The commit delta that an observer gets. */

#include "index/audit.h"
#include "index/commit_delta.h"

static const struct hash128 hash = {1, 2};

/* The delta of the last commit as text: a word for each change, with its kind and object. */
struct observed {
	char text[4096];
	unsigned int calls;
	uint64_t generation;
};

static struct observed observed;

PRINTF_LIKE(1, 2) static void append(const char *format, ...)
{
	size_t length = strlen(observed.text);
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(observed.text + length, sizeof(observed.text) - length, format, arguments);
	va_end(arguments);
}

static void append_file(const struct delta_file *file)
{
	uint32_t what = file->what;

	append("file:%d:%s%s%s%s%s ", (int)file->file, what & DELTA_FILE_ATTRIBUTES ? "a" : "",
	       what & DELTA_FILE_UNREAD ? "u" : "", what & DELTA_FILE_GONE ? "g" : "",
	       what & DELTA_FILE_BACK ? "b" : "", what & DELTA_FILE_NAMES ? "n" : "");
}

static void observe(struct commit_delta *delta, void *context)
{
	struct fixture *f = context;
	const struct delta_name *name;
	const struct delta_dir *dir;
	const struct delta_file *file;
	const struct delta_group *group;
	const struct delta_flip *flip;
	const uint64_t *holder;
	const struct delta_error *error;

	observed.text[0] = '\0';
	observed.calls++;
	assert_true(delta->generation > observed.generation);
	observed.generation = delta->generation;
	assert_int_equal(totals_of(f).generation,
			 delta->generation); /* readers already see this commit */
	for (size_t i = 0; (name = commit_delta_at(delta, DELTA_NAMES, i)); i++)
		append("name:%d/%.*s ", (int)name->dir, (int)name->length,
		       (const char *)delta->text.data + name->offset);
	for (size_t i = 0; (dir = commit_delta_at(delta, DELTA_DIRS, i)); i++)
		append("dir:%d%s%s ", (int)dir->dir, dir->gone ? ":gone" : "",
		       dir->moved ? ":moved" : "");
	for (size_t i = 0; (file = commit_delta_at(delta, DELTA_FILES, i)); i++)
		append_file(file);
	for (size_t i = 0; (group = commit_delta_at(delta, DELTA_GROUPS, i)); i++)
		append("group:%d:%d-%d ", (int)group->now.id, (int)group->before.inodes,
		       (int)group->now.inodes);
	for (size_t i = 0; (flip = commit_delta_at(delta, DELTA_REDUNDANCY, i)); i++)
		append("%s:%d ", flip->redundant ? "redundant" : "unique", (int)flip->file);
	for (size_t i = 0; (holder = commit_delta_at(delta, DELTA_HOLDERS, i)); i++)
		append("holder:%d ", (int)*holder);
	for (size_t i = 0; (error = commit_delta_at(delta, DELTA_ERRORS, i)); i++)
		append("error:%d:%d:%d ", (int)error->kind, (int)error->id, error->error);
}

PRINTF_LIKE(1, 2) static void expect(const char *format, ...)
{
	char expected[sizeof(observed.text)];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(expected, sizeof(expected), format, arguments);
	va_end(arguments);
	assert_string_equal(observed.text, expected);
	observed.text[0] = '\0';
}

static int setup(void **state)
{
	struct fixture *f;

	fixture_setup(state);
	f = *state;
	observed = (struct observed){0};
	catalog_observe(f->catalog, observe, f);
	return 0;
}

/* ---- names, directories and files ---------------------------------------------------- */

static void test_delta_has_added_and_removed_names(void **state)
{
	struct fixture *f = *state;
	int root = (int)f->roots[0];
	int file = (int)new_file(f, f->roots[0], "a", file_of(10, 100, 0));
	struct attributes link = file_of(11, 3, 0);

	expect("name:%d/a file:%d:u ", root, file);
	new_file(f, f->roots[0], "b", file_of(10, 100, 0));
	expect("name:%d/b file:%d:n ", root, file);
	remove_and_commit(f, f->roots[0], "a");
	expect("name:%d/a file:%d:n ", root, file);
	remove_and_commit(f, f->roots[0], "b");
	expect("name:%d/b file:%d:g ", root, file);
	link.mode = S_IFLNK | 0777;
	new_file(f, f->roots[0], "link", link);
	expect("name:%d/link ", root);
}

static void test_delta_of_a_rename_has_no_removed_file(void **state)
{
	struct fixture *f = *state;
	int root = (int)f->roots[0];
	uint64_t file = new_file(f, f->roots[0], "a", file_of(10, 100, 0));
	struct attributes renamed = file_of(10, 100, 0);

	assert_int_equal(set_content(f, file, 0), 0);
	renamed.ctime.tv_sec++;
	remove_name(f, f->roots[0], "a");
	add_file(f, f->roots[0], "b", renamed);
	f->changes[1].flags = FILE_SAME_BYTES | FILE_MOVED;
	fixture_commit(f);
	expect("name:%d/a name:%d/b file:%d:ab ", root, root, (int)file);
	renamed.ctime.tv_sec++;
	remove_name(f, f->roots[0], "b");
	add_file(f, f->roots[0], "c", renamed);
	fixture_commit(f);
	expect("name:%d/b name:%d/c file:%d:au ", root, root, (int)file);
	remove_name(f, f->roots[0], "c");
	add_file(f, f->roots[0], "d", renamed);
	fixture_commit(f);
	expect("name:%d/c name:%d/d file:%d:u ", root, root, (int)file);
}

static void test_delta_of_a_removed_tree_has_its_directories(void **state)
{
	struct fixture *f = *state;
	uint64_t top = new_dir(f, f->roots[0], "top"), below = new_dir(f, top, "below");
	uint64_t file = new_file(f, below, "file", file_of(10, 100, 0));

	remove_and_commit(f, f->roots[0], "top");
	expect("name:%d/top dir:%d:gone dir:%d:gone file:%d:g ", (int)f->roots[0], (int)top,
	       (int)below, (int)file);
}

static void test_delta_has_changed_and_moved_directories(void **state)
{
	struct fixture *f = *state;
	int root = (int)f->roots[0];
	uint64_t dir = new_dir(f, f->roots[0], "dir"), to = new_dir(f, f->roots[0], "to");
	struct name_change *change = fixture_change(f, NAME_UPDATE_DIR);

	change->id = dir;
	change->attributes = dir_of(50);
	change->error = EIO;
	fixture_commit(f);
	expect("dir:%d error:%d:%d:%d ", (int)dir, ERROR_DIR, (int)dir, EIO);
	move_dir(f, dir, to, "new");
	fixture_commit(f);
	expect("name:%d/dir name:%d/new dir:%d:moved ", root, (int)to, (int)dir);
}

static void test_delta_distinguishes_attributes_and_content(void **state)
{
	struct fixture *f = *state;
	struct attributes attributes = file_of(10, 100, 0);
	uint64_t file = new_file(f, f->roots[0], "a", attributes);

	attributes.uid = 7;
	update_file(f, file, attributes);
	fixture_commit(f);
	expect("file:%d:a ", (int)file);
	update_file(f, file, attributes);
	fixture_commit(f);
	assert_string_equal(observed.text, "");
	attributes.mtime.tv_sec++;
	update_file(f, file, attributes);
	fixture_commit(f);
	expect("file:%d:u file:%d:a ", (int)file, (int)file);
	touch_file(f, file);
	fixture_commit(f);
	expect("file:%d:u ", (int)file);
}

/* ---- groups -------------------------------------------------------------------------- */

static void test_delta_has_groups_and_changes_of_redundancy(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[2] = {new_file(f, f->roots[0], "a", file_of(10, 100, 0)),
			   new_file(f, f->roots[0], "b", file_of(11, 100, 0))};
	int group = (int)add_group(f, hash, ids, 2), a = (int)ids[0], b = (int)ids[1];
	int root = (int)f->roots[0];

	expect("group:%d:0-2 redundant:%d holder:%d ", group, b, root);
	assert_int_equal(set_content(f, ids[1], 0), 0);
	expect("group:%d:2-1 unique:%d holder:%d ", group, b, root);
	remove_and_commit(f, f->roots[0], "a");
	expect("name:%d/a file:%d:g group:%d:1-0 ", root, a, group);
	add_file(f, f->roots[0], "a", file_of(10, 100, 0));
	fixture_commit(f);
	expect("name:%d/a file:%d:b group:%d:0-1 ", root, a, group);
}

static void test_delta_has_all_parents_of_the_first_redundant_copy(void **state)
{
	struct fixture *f = *state;
	uint64_t top = new_dir(f, f->roots[0], "top"), below = new_dir(f, top, "below");
	uint64_t ids[3] = {new_file(f, f->roots[0], "a", file_of(10, 100, 0)),
			   new_file(f, below, "b", file_of(11, 100, 0)),
			   new_file(f, top, "c", file_of(12, 100, 0))};
	int group, root = (int)f->roots[0], dirs[] = {(int)top, (int)below};

	group = (int)add_group(f, hash, ids, 2);
	expect("group:%d:0-2 redundant:%d holder:%d holder:%d holder:%d ", group, (int)ids[1],
	       dirs[1], dirs[0], root);
	assert_int_equal(set_content(f, ids[2], (uint64_t)group), 0);
	expect("group:%d:2-3 redundant:%d ", group, (int)ids[2]);
	remove_name(f, below, "b");
	fixture_commit(f);
	expect("name:%d/b file:%d:g group:%d:3-2 unique:%d holder:%d ", dirs[1], (int)ids[1], group,
	       (int)ids[1], dirs[1]);
	remove_and_commit(f, f->roots[0], "top");
	expect("name:%d/top dir:%d:gone dir:%d:gone file:%d:g group:%d:2-1 unique:%d holder:%d ",
	       root, dirs[0], dirs[1], (int)ids[2], group, (int)ids[2], root);
}

static void test_delta_of_a_dissolved_group_has_unread_files(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[2] = {new_file(f, f->roots[0], "a", file_of(10, 100, 0)),
			   new_file(f, f->roots[0], "b", file_of(11, 100, 0))};
	int group = (int)add_group(f, hash, ids, 2), a = (int)ids[0], b = (int)ids[1];

	(void)begin_scan(f, 1000);
	expect("file:%d:u file:%d:u group:%d:2-0 unique:%d holder:%d ", a, b, group, b,
	       (int)f->roots[0]);
}

/* ---- errors -------------------------------------------------------------------------- */

static void test_delta_has_changed_errors(void **state)
{
	struct fixture *f = *state;
	uint64_t file = new_file(f, f->roots[0], "a", file_of(10, 100, 0));
	static const int errors[] = {EIO, EACCES, 0};

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		set_error(f, ERROR_FILE, file, errors[i]);
		expect("error:%d:%d:%d ", ERROR_FILE, (int)file, errors[i]);
		observed.calls = 0;
		set_error(f, ERROR_FILE, file, errors[i]);
		assert_int_equal(observed.calls, 0);
	}
}

/* ---- commits ------------------------------------------------------------------------- */

static void test_commit_without_changes_has_no_delta(void **state)
{
	struct fixture *f = *state;

	add_file(f, f->roots[0], "a", file_of(10, 100, 0));
	fixture_cancel(f);
	assert_int_equal(observed.calls, 0);
	fixture_commit(f);
	assert_int_equal(observed.calls, 1);
	fixture_commit(f); /* an empty transaction */
	assert_int_equal(observed.calls, 1);
	catalog_observe(f->catalog, NULL, NULL);
	remove_and_commit(f, f->roots[0], "a");
	assert_int_equal(observed.calls, 1);
}

static unsigned int names_observed;

static void count_names(struct commit_delta *delta, void *context)
{
	size_t count;

	(void)context;
	(void)commit_delta_list(delta, DELTA_NAMES, &count);
	names_observed += (unsigned int)count;
}

/* A transaction that fills the map runs again in a larger map. Its delta has each name once. */
static void test_transaction_that_ran_twice_has_one_delta(void **state)
{
	struct fixture *f = *state;
	static char names[2000][8];
	unsigned int count = 0;

	catalog_close(f->catalog);
	folder_remove(f->folder);
	fixture_make_folder(f->folder);
	f->map_bytes = 128 << 10;
	fixture_open(f);
	fixture_fill(f);
	catalog_observe(f->catalog, count_names, NULL);
	names_observed = 0;
	while (count < ARRAY_SIZE(names)) {
		for (size_t i = 0; i < 200; i++, count++) {
			(void)snprintf(names[count], sizeof(names[count]), "%u", count);
			add_file(f, f->roots[0], names[count], file_of(100 + count, 10, 0));
		}
		fixture_commit(f);
	}
	assert_int_equal(names_observed, ARRAY_SIZE(names));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_delta_has_added_and_removed_names),
		CASE(test_delta_of_a_rename_has_no_removed_file),
		CASE(test_delta_of_a_removed_tree_has_its_directories),
		CASE(test_delta_has_changed_and_moved_directories),
		CASE(test_delta_distinguishes_attributes_and_content),
		CASE(test_delta_has_groups_and_changes_of_redundancy),
		CASE(test_delta_has_all_parents_of_the_first_redundant_copy),
		CASE(test_delta_of_a_dissolved_group_has_unread_files),
		CASE(test_delta_has_changed_errors),
		CASE(test_commit_without_changes_has_no_delta),
		CASE(test_transaction_that_ran_twice_has_one_delta),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
