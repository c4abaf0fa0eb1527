/* SPDX-License-Identifier: MIT */
#include "index/audit.h"

static const struct hash128 hash = {1, 2};

/* Adds files of 100 bytes with the names "0", "1" ... */
static void add_files(struct fixture *f, uint64_t *ids, size_t count)
{
	char name[24];

	for (size_t i = 0; i < count; i++) {
		(void)snprintf(name, sizeof(name), "%zu", i);
		ids[i] = new_file(f, f->roots[0], name, file_of(10 + i, 100, 0));
	}
}

/* The group of the orphan was removed, so the content of the orphan is compared again. */
static void test_orphan_of_a_removed_group_returns_with_unknown_content(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[2], group;

	add_files(f, ids, 2);
	group = add_group(f, hash, ids, 2);
	remove_and_commit(f, f->roots[0], "1");
	update_file(f, ids[0], file_of(10, 100, 1)); /* the last member leaves */
	fixture_commit(f);
	assert_int_equal(group_at(f, group).id, 0);
	new_file(f, f->roots[0], "1", file_of(11, 100, 0));
	assert_int_equal(content_of(f, ids[1]).prefix, 0);
	audit_index(f->catalog);
}

static int orphan_and_purge_body(struct catalog_writer *w, void *context)
{
	bool left;
	int r = fixture_apply_body(w, context);

	return r < 0 ? r : catalog_purge_orphans(w, 100, &left);
}

static void test_purge_in_the_transaction_of_the_removal_removes_the_group(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[2], group;

	add_files(f, ids, 2);
	group = add_group(f, hash, ids, 2);
	remove_name(f, f->roots[0], "0");
	remove_name(f, f->roots[0], "1");
	assert_int_equal(catalog_write(f->catalog, orphan_and_purge_body, f), 0);
	f->count = 0;
	assert_int_equal(group_at(f, group).id, 0);
	audit_index(f->catalog);
}

/* ---- changed bytes ------------------------------------------------------------------- */

/* A rename or a link changes only the ctime. */
static void test_content_stays_known_if_only_names_change(void **state)
{
	struct fixture *f = *state;
	struct attributes attributes = file_of(11, 100, 0);
	uint64_t ids[2], group;

	add_files(f, ids, 2);
	group = add_group(f, hash, ids, 2);
	attributes.ctime.tv_sec++;
	update_file(f, ids[1], attributes);
	f->changes[0].flags = FILE_SAME_BYTES;
	fixture_commit(f);
	attributes.ctime.tv_sec++;
	add_file(f, f->roots[0], "link", attributes);
	f->changes[0].flags = FILE_SAME_BYTES;
	fixture_commit(f);
	attributes.ctime.tv_sec++;
	remove_name(f, f->roots[0], "1");
	remove_name(f, f->roots[0], "link");
	add_file(f, f->roots[0], "renamed", attributes);
	f->changes[2].flags = FILE_SAME_BYTES | FILE_MOVED;
	fixture_commit(f);
	assert_int_equal(content_of(f, ids[1]).group, group);
	assert_int_equal(file_at(f, ids[1]).content_version, 0);
	assert_int_equal(file_at(f, ids[1]).attributes.ctime.tv_sec, attributes.ctime.tv_sec);
	assert_int_equal(totals_of(f).groups, 1);
	audit_index(f->catalog);
}

/* A program can have written to the file by the name that the index lacks. */
static void test_content_is_unknown_if_the_index_lacks_a_name(void **state)
{
	struct fixture *f = *state;
	struct attributes attributes = file_of(11, 100, 0);
	uint64_t ids[2];

	add_files(f, ids, 2);
	assert_int_equal(set_content(f, ids[1], 0), 0);
	attributes.ctime.tv_sec++;
	attributes.links = 3;
	add_file(f, f->roots[0], "x", attributes);
	add_file(f, f->roots[0], "y", attributes);
	f->changes[0].flags = f->changes[1].flags = FILE_SAME_BYTES;
	fixture_commit(f);
	assert_int_not_equal(content_of(f, ids[1]).prefix, 0);
	attributes.ctime.tv_sec++;
	attributes.links = 4;
	update_file(f, ids[1], attributes);
	f->changes[0].flags = FILE_SAME_BYTES;
	fixture_commit(f);
	assert_int_equal(content_of(f, ids[1]).prefix, 0);
	audit_index(f->catalog);
}

/* The orphan returns by a link to a name that the index lacks. */
static void test_orphan_that_returns_without_a_rename_is_unknown(void **state)
{
	struct fixture *f = *state;
	struct attributes attributes = file_of(11, 100, 0);
	uint64_t ids[2];

	add_files(f, ids, 2);
	assert_int_equal(set_content(f, ids[1], 0), 0);
	remove_name(f, f->roots[0], "1");
	fixture_commit(f);
	attributes.ctime.tv_sec++;
	add_file(f, f->roots[0], "1", attributes);
	f->changes[0].flags = FILE_SAME_BYTES;
	fixture_commit(f);
	assert_int_equal(id_at(f, f->roots[0], "1"), ids[1]);
	assert_int_equal(content_of(f, ids[1]).prefix, 0);
	audit_index(f->catalog);
}

static void test_content_is_unknown_if_more_than_ctime_changed(void **state)
{
	static const struct {
		int size, mtime, birth;
	} moved[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
	struct fixture *f = *state;
	struct attributes attributes = file_of(11, 100, 0);
	uint64_t ids[2];

	add_files(f, ids, 2);
	for (size_t i = 0; i < ARRAY_SIZE(moved); i++) {
		assert_int_equal(set_content(f, ids[1], 0), 0);
		attributes.size += (uint64_t)moved[i].size;
		attributes.mtime.tv_sec += moved[i].mtime;
		attributes.btime.tv_sec += moved[i].birth;
		attributes.ctime.tv_sec++;
		update_file(f, ids[1], attributes);
		f->changes[0].flags = FILE_SAME_BYTES;
		fixture_commit(f);
		assert_int_equal(content_of(f, ids[1]).prefix, 0);
		assert_int_equal(file_at(f, ids[1]).content_version, i + 1);
		audit_index(f->catalog);
	}
}

/* One of two new names lacks FILE_SAME_BYTES. */
static void test_content_stays_known_only_if_each_name_has_the_flag(void **state)
{
	struct fixture *f = *state;
	struct attributes attributes = file_of(11, 100, 0);
	uint64_t ids[2];

	add_files(f, ids, 2);
	assert_int_equal(set_content(f, ids[1], 0), 0);
	attributes.ctime.tv_sec++;
	add_file(f, f->roots[0], "x", attributes);
	add_file(f, f->roots[0], "y", attributes);
	f->changes[0].flags = FILE_SAME_BYTES;
	fixture_commit(f);
	assert_int_equal(content_of(f, ids[1]).prefix, 0);
	assert_int_equal(file_at(f, ids[1]).content_version, 1);
	audit_index(f->catalog);
}

static void test_touched_file_is_unknown_with_the_same_signature(void **state)
{
	struct fixture *f = *state;
	struct file_record before, after;
	uint64_t ids[2], group;

	add_files(f, ids, 2);
	group = add_group(f, hash, ids, 2);
	before = file_at(f, ids[1]);
	touch_file(f, ids[1]);
	touch_file(f, 123456); /* does not exist */
	fixture_commit(f);
	assert_int_equal(content_of(f, ids[1]).prefix, 0);
	assert_int_equal(group_at(f, group).inodes, 1);
	after = file_at(f, ids[1]);
	assert_int_equal(after.content_version, 1);
	assert_true(attributes_equal(&after.attributes, &before.attributes));
	audit_index(f->catalog);
}

/* The file was written to between the read and the commit, in one tick of its clock. */
static void test_content_read_before_a_touch_is_refused(void **state)
{
	struct fixture *f = *state;
	struct content_change change = {.prefix = 5};
	struct file_record read;
	uint64_t ids[1];

	add_files(f, ids, 1);
	read = file_at(f, ids[0]);
	change.file = ids[0];
	change.digest = file_digest(&read);
	touch_file(f, ids[0]);
	fixture_commit(f);
	assert_int_equal(set_content_change(f, &change), CONTENT_STALE);
	assert_int_equal(content_of(f, ids[0]).prefix, 0);
}

/* If a file is touched and renamed in one batch, the touch is applied first. */
static void test_touched_file_that_was_renamed_is_unknown(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[1];

	add_files(f, ids, 1);
	assert_int_equal(set_content(f, ids[0], 0), 0);
	remove_name(f, f->roots[0], "0");
	add_file(f, f->roots[0], "renamed", file_of(10, 100, 0));
	f->changes[1].flags = FILE_SAME_BYTES | FILE_MOVED;
	touch_file(f, ids[0]);
	fixture_commit(f);
	assert_int_equal(id_at(f, f->roots[0], "renamed"), ids[0]);
	assert_int_equal(content_of(f, ids[0]).prefix, 0);
	assert_int_equal(file_at(f, ids[0]).content_version, 1);
	audit_index(f->catalog);
}

/* ---- errors -------------------------------------------------------------------------- */

static void test_error_of_a_file_is_removed_when_it_changes_or_loses_its_names(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[2];

	add_files(f, ids, 2);
	set_error(f, ERROR_FILE, ids[0], EIO);
	set_error(f, ERROR_FILE, ids[1], EIO);
	assert_int_equal(totals_of(f).errors, 2);
	update_file(f, ids[0], file_of(10, 100, 1));
	fixture_commit(f);
	assert_int_equal(totals_of(f).errors, 1);
	remove_and_commit(f, f->roots[0], "1");
	assert_int_equal(totals_of(f).errors, 0);
	audit_index(f->catalog);
}

static void test_error_of_a_removed_file_is_not_stored(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[1];

	add_files(f, ids, 1);
	remove_and_commit(f, f->roots[0], "0");
	set_error(f, ERROR_FILE, ids[0], EIO);
	audit_index(f->catalog);
	assert_false(purge_orphans(f, 10));
	set_error(f, ERROR_FILE, ids[0], EIO);
	audit_index(f->catalog);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_orphan_of_a_removed_group_returns_with_unknown_content),
		CASE(test_purge_in_the_transaction_of_the_removal_removes_the_group),
		CASE(test_content_stays_known_if_only_names_change),
		CASE(test_content_is_unknown_if_more_than_ctime_changed),
		CASE(test_content_is_unknown_if_the_index_lacks_a_name),
		CASE(test_orphan_that_returns_without_a_rename_is_unknown),
		CASE(test_content_stays_known_only_if_each_name_has_the_flag),
		CASE(test_touched_file_is_unknown_with_the_same_signature),
		CASE(test_content_read_before_a_touch_is_refused),
		CASE(test_touched_file_that_was_renamed_is_unknown),
		CASE(test_error_of_a_file_is_removed_when_it_changes_or_loses_its_names),
		CASE(test_error_of_a_removed_file_is_not_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
