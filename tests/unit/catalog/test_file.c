/* SPDX-License-Identifier: MIT */
#include "catalog/audit.h"

static const struct hash128 hash = {1, 2};

/* Names of so many files of 100 bytes: "0", "1" ... */
static void add_files(struct fixture *f, uint64_t *ids, size_t count)
{
	char name[16];

	for (size_t i = 0; i < count; i++) {
		(void)snprintf(name, sizeof(name), "%zu", i);
		ids[i] = new_file(f, f->roots[0], name, file_of(10 + i, 100, 0));
	}
}

static void test_file_that_lost_its_last_name_keeps_its_content_if_it_comes_back(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[2], group;

	add_files(f, ids, 2);
	group = add_group(f, hash, ids, 2);
	remove_and_commit(f, f->roots[0], "1");
	audit_index(f->catalog);
	assert_int_equal(group_at(f, group).inodes, 1);
	assert_int_equal(totals_of(f).groups, 0);
	new_file(f, f->roots[0], "back", file_of(11, 100, 0));
	assert_int_equal(id_at(f, f->roots[0], "back"), ids[1]);
	assert_int_equal(content_of(f, ids[1]).group, group);
	assert_int_equal(group_at(f, group).inodes, 2);
	assert_int_equal(totals_of(f).groups, 1);
	audit_index(f->catalog);
}

static void test_group_whose_files_all_lost_their_names_waits_for_them(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[2], group;

	add_files(f, ids, 2);
	group = add_group(f, hash, ids, 2);
	remove_name(f, f->roots[0], "0");
	remove_name(f, f->roots[0], "1");
	fixture_commit(f);
	assert_int_equal(group_at(f, group).id, group);
	audit_index(f->catalog);
	new_file(f, f->roots[0], "x", file_of(10, 100, 0));
	new_file(f, f->roots[0], "y", file_of(11, 100, 0));
	assert_int_equal(group_at(f, group).inodes, 2);
	audit_index(f->catalog);
}

static void test_file_that_comes_back_changed_is_not_known_any_more(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[3], group;

	add_files(f, ids, 3);
	group = add_group(f, hash, ids, 3);
	remove_and_commit(f, f->roots[0], "2");
	new_file(f, f->roots[0], "2", file_of(12, 100, 1));
	assert_int_equal(id_at(f, f->roots[0], "2"), ids[2]);
	assert_int_equal(content_of(f, ids[2]).prefix, 0);
	assert_int_equal(group_at(f, group).inodes, 2);
	remove_and_commit(f, f->roots[0], "1");
	new_file(f, f->roots[0], "1", file_of(11, 555, 1));
	assert_int_equal(content_of(f, ids[1]).prefix, 0);
	assert_int_equal(group_at(f, group).inodes, 1);
	audit_index(f->catalog);
}

static void test_purged_file_takes_its_group_along_when_it_is_the_last(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[2], group;

	add_files(f, ids, 2);
	group = add_group(f, hash, ids, 2);
	remove_and_commit(f, f->roots[0], "0");
	assert_false(purge_orphans(f, 10));
	assert_int_equal(group_at(f, group).inodes, 1);
	audit_index(f->catalog);
	remove_and_commit(f, f->roots[0], "1");
	assert_false(purge_orphans(f, 10));
	assert_int_equal(group_at(f, group).id, 0);
	assert_int_equal(totals_of(f).files, 0);
	audit_index(f->catalog);
	new_file(f, f->roots[0], "again", file_of(10, 100, 0));
	assert_true(id_at(f, f->roots[0], "again") > group);
	audit_index(f->catalog);
}

/* The group is gone that an orphan was in: what it held is compared anew. */
static void test_file_that_comes_back_to_no_group_is_not_known_any_more(void **state)
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

static void test_purge_goes_on_where_it_stopped(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[5];

	add_files(f, ids, 5);
	for (char name[] = "0"; *name < '5'; ++*name)
		remove_name(f, f->roots[0], name);
	fixture_commit(f);
	assert_true(purge_orphans(f, 3));
	audit_index(f->catalog);
	assert_false(purge_orphans(f, 3));
	assert_false(purge_orphans(f, 3));
	audit_index(f->catalog);
}

static int orphan_and_purge_body(struct catalog_writer *w, void *context)
{
	bool left;
	int r = fixture_apply_body(w, context);

	return r < 0 ? r : catalog_purge_orphans(w, 100, &left);
}

static void test_purge_in_the_transaction_that_made_the_orphan_leaves_nothing(void **state)
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

static void test_inode_number_of_an_orphan_can_be_used_again(void **state)
{
	struct fixture *f = *state;
	struct attributes reborn = file_of(10, 100, 0);
	uint64_t ids[2], group;

	add_files(f, ids, 2);
	group = add_group(f, hash, ids, 2);
	remove_and_commit(f, f->roots[0], "0");
	reborn.btime.tv_sec++;
	new_file(f, f->roots[0], "0", reborn);
	assert_int_not_equal(id_at(f, f->roots[0], "0"), ids[0]);
	audit_index(f->catalog);
	assert_false(purge_orphans(f, 10));
	assert_int_equal(group_at(f, group).inodes, 1);
	audit_index(f->catalog);
	new_file(f, f->roots[0], "link", reborn);
	assert_int_equal(id_at(f, f->roots[0], "link"), id_at(f, f->roots[0], "0"));
	audit_index(f->catalog);
}

static void test_changed_file_leaves_its_group_at_once(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[3], group;

	add_files(f, ids, 3);
	group = add_group(f, hash, ids, 3);
	update_file(f, ids[1], file_of(11, 100, 1)); /* only its times */
	fixture_commit(f);
	assert_int_equal(content_of(f, ids[1]).prefix, 0);
	assert_int_equal(group_at(f, group).inodes, 2);
	audit_index(f->catalog);
	update_file(f, ids[2], file_of(12, 101, 1));
	fixture_commit(f);
	assert_int_equal(totals_of(f).groups, 0);
	assert_int_equal(totals_of(f).bytes.low, 301);
	audit_index(f->catalog);
}

static void test_change_that_is_none_of_the_content_keeps_the_group(void **state)
{
	struct fixture *f = *state;
	struct attributes attributes = file_of(11, 100, 0);
	uint64_t ids[2], group;

	add_files(f, ids, 2);
	group = add_group(f, hash, ids, 2);
	attributes.uid = 1000;
	attributes.links = 7;
	attributes.blocks = 99;
	update_file(f, ids[1], attributes);
	fixture_commit(f);
	assert_int_equal(content_of(f, ids[1]).group, group);
	assert_int_equal(file_at(f, ids[1]).attributes.uid, 1000);
	audit_index(f->catalog);
	new_file(f, f->roots[0], "link", attributes);
	assert_int_equal(group_at(f, group).inodes, 2);
	assert_int_equal(totals_of(f).redundant_bytes.low, 100);
	audit_index(f->catalog);
}

/* A name is added with the attributes of a moment later than the other name's. */
static void test_further_name_with_a_new_signature_forgets_the_content(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[2], group;

	add_files(f, ids, 2);
	group = add_group(f, hash, ids, 2);
	new_file(f, f->roots[0], "link", file_of(11, 200, 3));
	assert_int_equal(content_of(f, ids[1]).prefix, 0);
	assert_int_equal(file_at(f, ids[1]).attributes.size, 200);
	assert_int_equal(group_at(f, group).inodes, 1);
	audit_index(f->catalog);
}

/* ---- what happened to the bytes ------------------------------------------------------ */

/* A rename or a link moves ctime, and nothing else. */
static void test_names_that_come_and_go_leave_the_content_known(void **state)
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
	assert_int_equal(file_at(f, ids[1]).touches, 0);
	assert_int_equal(file_at(f, ids[1]).attributes.ctime.tv_sec, attributes.ctime.tv_sec);
	assert_int_equal(totals_of(f).groups, 1);
	audit_index(f->catalog);
}

/* Somebody may have written through the name that the index does not have. */
static void test_content_is_unknown_where_names_are_out_of_sight(void **state)
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

/* It comes by a link to a name that is nowhere in the index. */
static void test_orphan_that_comes_back_otherwise_than_by_a_rename_is_unknown(void **state)
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

static void test_content_is_unknown_where_more_than_ctime_moved(void **state)
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
		assert_int_equal(file_at(f, ids[1]).touches, i + 1);
		audit_index(f->catalog);
	}
}

/* One of two new names says that more happened. */
static void test_same_bytes_must_be_said_with_each_name(void **state)
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
	assert_int_equal(file_at(f, ids[1]).touches, 1);
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
	touch_file(f, 123456); /* gone */
	fixture_commit(f);
	assert_int_equal(content_of(f, ids[1]).prefix, 0);
	assert_int_equal(group_at(f, group).inodes, 1);
	after = file_at(f, ids[1]);
	assert_int_equal(after.touches, 1);
	assert_true(attributes_equal(&after.attributes, &before.attributes));
	audit_index(f->catalog);
}

/* It was written to between the read and the commit, in one tick of its clock. */
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

/* Touched and renamed at once: the touch comes first. */
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
	assert_int_equal(file_at(f, ids[0]).touches, 1);
	audit_index(f->catalog);
}

/* ---- errors -------------------------------------------------------------------------- */

static void test_error_of_a_file_goes_when_it_changes_or_loses_its_names(void **state)
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

static void test_error_of_a_file_that_is_gone_is_not_noted(void **state)
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
		CASE(test_file_that_lost_its_last_name_keeps_its_content_if_it_comes_back),
		CASE(test_group_whose_files_all_lost_their_names_waits_for_them),
		CASE(test_file_that_comes_back_changed_is_not_known_any_more),
		CASE(test_purged_file_takes_its_group_along_when_it_is_the_last),
		CASE(test_file_that_comes_back_to_no_group_is_not_known_any_more),
		CASE(test_purge_goes_on_where_it_stopped),
		CASE(test_purge_in_the_transaction_that_made_the_orphan_leaves_nothing),
		CASE(test_inode_number_of_an_orphan_can_be_used_again),
		CASE(test_changed_file_leaves_its_group_at_once),
		CASE(test_change_that_is_none_of_the_content_keeps_the_group),
		CASE(test_further_name_with_a_new_signature_forgets_the_content),
		CASE(test_names_that_come_and_go_leave_the_content_known),
		CASE(test_content_is_unknown_where_more_than_ctime_moved),
		CASE(test_content_is_unknown_where_names_are_out_of_sight),
		CASE(test_orphan_that_comes_back_otherwise_than_by_a_rename_is_unknown),
		CASE(test_same_bytes_must_be_said_with_each_name),
		CASE(test_touched_file_is_unknown_with_the_same_signature),
		CASE(test_content_read_before_a_touch_is_refused),
		CASE(test_touched_file_that_was_renamed_is_unknown),
		CASE(test_error_of_a_file_goes_when_it_changes_or_loses_its_names),
		CASE(test_error_of_a_file_that_is_gone_is_not_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
