/* SPDX-License-Identifier: MIT */
#include "catalog/audit.h"

static const struct hash128 hash = {1, 2};

/* Names of so many files of 100 bytes: "0", "1" ... */
static void add_files(struct fixture *f, uint64_t *ids, size_t count)
{
	char name[16];

	for (size_t i = 0; i < count; i++) {
		(void)snprintf(name, sizeof(name), "%zu", i);
		add_file(f, f->roots[0], name, file_of(10 + i, 100, 0));
		fixture_commit(f);
		ids[i] = id_at(f, f->roots[0], name);
	}
}

static void remove_and_commit(struct fixture *f, const char *name)
{
	remove_name(f, f->roots[0], name);
	fixture_commit(f);
}

static void add_and_commit(struct fixture *f, const char *name, struct attributes attributes)
{
	add_file(f, f->roots[0], name, attributes);
	fixture_commit(f);
}

static void test_file_that_lost_its_last_name_keeps_its_content_if_it_comes_back(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[2], group;

	add_files(f, ids, 2);
	group = add_group(f, hash, ids, 2);
	remove_and_commit(f, "1");
	audit_index(f->catalog);
	assert_int_equal(group_at(f, group).inodes, 1);
	assert_int_equal(totals_of(f).groups, 0);
	add_and_commit(f, "back", file_of(11, 100, 0));
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
	add_and_commit(f, "x", file_of(10, 100, 0));
	add_and_commit(f, "y", file_of(11, 100, 0));
	assert_int_equal(group_at(f, group).inodes, 2);
	audit_index(f->catalog);
}

static void test_file_that_comes_back_changed_is_not_known_any_more(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[3], group;

	add_files(f, ids, 3);
	group = add_group(f, hash, ids, 3);
	remove_and_commit(f, "2");
	add_and_commit(f, "2", file_of(12, 100, 1));
	assert_int_equal(id_at(f, f->roots[0], "2"), ids[2]);
	assert_int_equal(content_of(f, ids[2]).head, 0);
	assert_int_equal(group_at(f, group).inodes, 2);
	remove_and_commit(f, "1");
	add_and_commit(f, "1", file_of(11, 555, 1));
	assert_int_equal(content_of(f, ids[1]).head, 0);
	assert_int_equal(group_at(f, group).inodes, 1);
	audit_index(f->catalog);
}

static void test_purged_file_takes_its_group_along_when_it_is_the_last(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[2], group;

	add_files(f, ids, 2);
	group = add_group(f, hash, ids, 2);
	remove_and_commit(f, "0");
	assert_false(purge_orphans(f, 10));
	assert_int_equal(group_at(f, group).inodes, 1);
	audit_index(f->catalog);
	remove_and_commit(f, "1");
	assert_false(purge_orphans(f, 10));
	assert_int_equal(group_at(f, group).id, 0);
	assert_int_equal(totals_of(f).files, 0);
	audit_index(f->catalog);
	add_and_commit(f, "again", file_of(10, 100, 0));
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
	remove_and_commit(f, "1");
	update_file(f, ids[0], file_of(10, 100, 1)); /* the last member leaves */
	fixture_commit(f);
	assert_int_equal(group_at(f, group).id, 0);
	add_and_commit(f, "1", file_of(11, 100, 0));
	assert_int_equal(content_of(f, ids[1]).head, 0);
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
	remove_and_commit(f, "0");
	reborn.btime.tv_sec++;
	add_and_commit(f, "0", reborn);
	assert_int_not_equal(id_at(f, f->roots[0], "0"), ids[0]);
	audit_index(f->catalog);
	assert_false(purge_orphans(f, 10));
	assert_int_equal(group_at(f, group).inodes, 1);
	audit_index(f->catalog);
	add_and_commit(f, "link", reborn);
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
	assert_int_equal(content_of(f, ids[1]).head, 0);
	assert_int_equal(group_at(f, group).inodes, 2);
	audit_index(f->catalog);
	update_file(f, ids[2], file_of(12, 101, 1));
	fixture_commit(f);
	assert_int_equal(totals_of(f).groups, 0);
	assert_int_equal(totals_of(f).bytes, 301);
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
	add_and_commit(f, "link", attributes);
	assert_int_equal(group_at(f, group).inodes, 2);
	assert_int_equal(totals_of(f).redundant_bytes, 100);
	audit_index(f->catalog);
}

/* A name is added with the attributes of a moment later than the other name's. */
static void test_further_name_with_a_new_signature_forgets_the_content(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[2], group;

	add_files(f, ids, 2);
	group = add_group(f, hash, ids, 2);
	add_and_commit(f, "link", file_of(11, 200, 3));
	assert_int_equal(content_of(f, ids[1]).head, 0);
	assert_int_equal(file_at(f, ids[1]).attributes.size, 200);
	assert_int_equal(group_at(f, group).inodes, 1);
	audit_index(f->catalog);
}

static int set_error_body(struct catalog_writer *w, void *context)
{
	return catalog_set_error(w, ERROR_FILE, *(const uint64_t *)context, EIO);
}

static void test_error_of_a_file_goes_when_it_changes_or_loses_its_names(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[2];

	add_files(f, ids, 2);
	assert_int_equal(catalog_write(f->catalog, set_error_body, &ids[0]), 0);
	assert_int_equal(catalog_write(f->catalog, set_error_body, &ids[1]), 0);
	assert_int_equal(totals_of(f).errors, 2);
	update_file(f, ids[0], file_of(10, 100, 1));
	fixture_commit(f);
	assert_int_equal(totals_of(f).errors, 1);
	remove_and_commit(f, "1");
	assert_int_equal(totals_of(f).errors, 0);
	audit_index(f->catalog);
}

static void test_error_of_a_file_that_is_gone_is_not_noted(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[1];

	add_files(f, ids, 1);
	remove_and_commit(f, "0");
	assert_int_equal(catalog_write(f->catalog, set_error_body, &ids[0]), 0);
	audit_index(f->catalog);
	assert_false(purge_orphans(f, 10));
	assert_int_equal(catalog_write(f->catalog, set_error_body, &ids[0]), 0);
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
		CASE(test_error_of_a_file_goes_when_it_changes_or_loses_its_names),
		CASE(test_error_of_a_file_that_is_gone_is_not_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
