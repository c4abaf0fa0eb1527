/* SPDX-License-Identifier: MIT */

/* The counts of redundant names in directories, and the times of listings. test_model.c recounts
 * after random changes. */

#include <limits.h>

#include "base/clock.h"
#include "index/audit.h"

static uint64_t count_in(const struct fixture *f, uint64_t dir)
{
	struct catalog_reader *reader = fixture_read(f);
	struct redundant_record record;

	assert_int_equal(catalog_get_redundant(reader, dir, &record), 0);
	catalog_read_end(reader);
	return record.count;
}

static void test_name_counts_in_its_directory_and_that_directory_in_its_parent(void **state)
{
	struct fixture *f = *state;
	uint64_t top = new_dir(f, f->roots[0], "top"), below = new_dir(f, top, "below");
	uint64_t empty = new_dir(f, top, "empty");
	uint64_t kept = new_file(f, f->roots[0], "a", file_of(10, 100, 0));
	uint64_t copy = new_file(f, below, "b", file_of(11, 100, 0));

	(void)new_file(f, top, "link", file_of(11, 100, 0));
	(void)add_group(f, (struct hash128){1, 2}, (uint64_t[]){kept, copy}, 2);
	assert_int_equal(count_in(f, f->roots[0]), 1); /* top */
	assert_int_equal(count_in(f, top), 2); /* link and below */
	assert_int_equal(count_in(f, below), 1); /* b */
	assert_int_equal(count_in(f, empty), 0);
	audit_index(f->catalog);
}

/* ---- times ---------------------------------------------------------------------------- */

static struct redundant_record record_of(const struct fixture *f, uint64_t dir)
{
	struct catalog_reader *reader = fixture_read(f);
	struct redundant_record record;

	assert_int_equal(catalog_get_redundant(reader, dir, &record), 0);
	catalog_read_end(reader);
	return record;
}

static struct timespec shown_since(const struct fixture *f, uint64_t id)
{
	return file_at(f, id).shown_since;
}

static bool is_set(struct timespec time)
{
	return time.tv_sec != 0;
}

static void update_dir(struct fixture *f, uint64_t dir, time_t ctime)
{
	struct name_change *change = fixture_change(f, NAME_UPDATE_DIR);

	change->id = dir;
	change->attributes = dir_of(dir);
	change->attributes.ctime = (struct timespec){ctime, 0};
}

/* A kept and a redundant copy in a directory, before or after a view shows them. */
struct pair {
	uint64_t dir, kept, copy;
};

static struct pair new_pair(struct fixture *f)
{
	struct pair pair = {.dir = new_dir(f, f->roots[0], "dir")};

	pair.kept = new_file(f, f->roots[0], "a", file_of(10, 100, 0));
	pair.copy = new_file(f, pair.dir, "b", file_of(11, 100, 0));
	return pair;
}

static void group_pair(struct fixture *f, const struct pair *pair)
{
	(void)add_group(f, (struct hash128){1, 2}, (uint64_t[]){pair->kept, pair->copy}, 2);
}

static void test_what_no_view_has_shown_gets_no_times(void **state)
{
	struct fixture *f = *state;
	struct pair pair = new_pair(f);

	group_pair(f, &pair);
	remove_and_commit(f, f->roots[0], "a");
	assert_false(is_set(shown_since(f, pair.copy)));
	assert_false(is_set(record_of(f, pair.dir).in_redundant));
	audit_index(f->catalog);
}

static void test_promotion_gives_times_to_the_file_and_its_folder(void **state)
{
	struct fixture *f = *state;
	struct pair pair = new_pair(f);
	struct redundant_record record;

	group_pair(f, &pair);
	assert_int_equal(catalog_begin_view(f->catalog), 0);
	remove_and_commit(f, f->roots[0], "a");
	record = record_of(f, pair.dir);
	assert_int_equal(record.count, 0);
	assert_true(is_set(shown_since(f, pair.copy)));
	assert_true(clock_equal(record.in_uniques, record.in_redundant));
	assert_true(clock_equal(record.in_uniques, shown_since(f, pair.copy)));
	audit_index(f->catalog);
	remove_and_commit(f, f->roots[0], "dir");
	audit_index(f->catalog); /* nothing is left of the directory */
}

static void test_first_comparison_gives_times_to_folders_only(void **state)
{
	struct fixture *f = *state;
	struct pair pair = new_pair(f);

	assert_int_equal(catalog_begin_view(f->catalog), 0);
	group_pair(f, &pair);
	assert_false(is_set(shown_since(f, pair.copy)));
	assert_true(is_set(record_of(f, pair.dir).in_uniques));
	/* the folder with the copy appears in redundant/ */
	assert_true(is_set(record_of(f, f->roots[0]).in_redundant));
	assert_false(is_set(record_of(f, f->roots[0]).in_uniques));
	audit_index(f->catalog);
}

static void test_time_is_later_than_a_ctime_in_the_future(void **state)
{
	struct fixture *f = *state;
	const struct timespec future = {4102444800, 999999999};
	struct attributes attributes = file_of(11, 100, 0);
	uint64_t kept = new_file(f, f->roots[0], "a", file_of(10, 100, 0)), copy;

	attributes.ctime = future;
	copy = new_file(f, f->roots[0], "b", attributes);
	(void)add_group(f, (struct hash128){1, 2}, (uint64_t[]){kept, copy}, 2);
	assert_int_equal(catalog_begin_view(f->catalog), 0);
	remove_and_commit(f, f->roots[0], "a");
	assert_int_equal(shown_since(f, copy).tv_sec, future.tv_sec + 1);
	assert_int_equal(shown_since(f, copy).tv_nsec, 0);
}

static void test_file_that_has_its_name_again_gets_a_time(void **state)
{
	struct fixture *f = *state;
	struct pair pair = new_pair(f);

	assert_int_equal(catalog_begin_view(f->catalog), 0);
	remove_and_commit(f, f->roots[0], "a");
	remove_and_commit(f, pair.dir, "b");
	add_file(f, f->roots[0], "a", file_of(10, 100, 0));
	add_file(f, pair.dir, "b", file_of(11, 100, 1)); /* another ctime */
	fixture_commit(f);
	assert_true(is_set(shown_since(f, pair.kept)));
	assert_false(is_set(shown_since(f, pair.copy)));
}

static void test_folder_gets_a_time_if_its_ctime_hides_a_change(void **state)
{
	struct fixture *f = *state;
	struct pair pair = new_pair(f);
	struct timespec first;

	update_dir(f, pair.dir, 5000);
	fixture_commit(f);
	assert_int_equal(catalog_begin_view(f->catalog), 0);
	add_file(f, pair.dir, "new", file_of(12, 100, 0));
	update_dir(f, pair.dir, 6000);
	fixture_commit(f);
	update_dir(f, pair.dir, 6000);
	fixture_commit(f);
	assert_false(is_set(record_of(f, pair.dir).in_uniques));
	add_file(f, pair.dir, "newer", file_of(13, 100, 0));
	fixture_commit(f);
	first = record_of(f, pair.dir).in_uniques;
	assert_true(is_set(first));
	update_dir(f, pair.dir, 5000); /* hidden by the time */
	fixture_commit(f);
	assert_true(clock_equal(record_of(f, pair.dir).in_uniques, first));
	remove_name(f, pair.dir, "newer");
	update_dir(f, pair.dir, first.tv_sec);
	fixture_commit(f);
	assert_true(clock_is_earlier(first, record_of(f, pair.dir).in_uniques));
	audit_index(f->catalog);
}

static void test_ctime_that_goes_back_gives_a_time(void **state)
{
	struct fixture *f = *state;
	struct pair pair = new_pair(f);

	update_dir(f, pair.dir, 4102444800);
	fixture_commit(f);
	assert_int_equal(catalog_begin_view(f->catalog), 0);
	update_dir(f, pair.dir, 5000);
	fixture_commit(f);
	assert_int_equal(record_of(f, pair.dir).in_uniques.tv_sec, 4102444800);
	assert_int_equal(record_of(f, pair.dir).in_uniques.tv_nsec, 1);
}

static void test_view_shows_what_it_has_when_the_index_is_opened_again(void **state)
{
	struct fixture *f = *state;
	struct pair pair = new_pair(f);

	group_pair(f, &pair);
	assert_int_equal(catalog_begin_view(f->catalog), 0);
	fixture_reopen(f);
	(void)new_file(f, f->roots[0], "c", file_of(12, 100, 0)); /* was never shown */
	remove_and_commit(f, f->roots[0], "a");
	assert_true(is_set(shown_since(f, pair.copy)));
	audit_index(f->catalog);
}

/* ---- records -------------------------------------------------------------------------- */

static struct span fields_of(struct value *value, enum table table)
{
	const struct key key = key_number(1);
	struct span fields = {0};

	value_seal(value, table, &key);
	assert_true(value_open((struct span){value->data, value->length}, table,
			       (struct span){key.data, key.length}, &fields));
	return fields;
}

static void test_redundant_records_are_decoded(void **state)
{
	static const struct redundant_record records[] = {
		{1, {0, 0}, {0, 0}},
		{UINT64_MAX, {0, 0}, {LONG_MAX, 999999999}},
		{0, {LONG_MIN, 1}, {LONG_MAX, 2}},
		{0, {1700000000, 5}, {1700000000, 5}},
		{3, {1700000000, 5}, {1700000000, 6}},
	};
	struct redundant_record got;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		struct value value = encode_redundant(&records[i]);

		assert_true(decode_redundant(fields_of(&value, TABLE_REDUNDANT), &got));
		assert_true(got.count == records[i].count);
		assert_true(clock_equal(got.in_uniques, records[i].in_uniques));
		assert_true(clock_equal(got.in_redundant, records[i].in_redundant));
	}
}

static void test_redundant_record_of_an_earlier_format_is_decoded(void **state)
{
	struct value value = encode_number(7);
	struct redundant_record got;

	(void)state;
	assert_true(decode_redundant(fields_of(&value, TABLE_REDUNDANT), &got));
	assert_true(got.count == 7 && got.in_redundant.tv_sec == 0);
}

static void test_totals_of_an_earlier_format_are_decoded(void **state)
{
	struct catalog_totals totals = {.files = 7, .viewed = 5}, got;
	struct value value = encode_totals(&totals);

	(void)state;
	value.length--; /* the last number */
	assert_true(decode_totals(fields_of(&value, TABLE_META), &got));
	assert_true(got.files == 7 && got.viewed == TWINFS_ID_MAX);
}

static void test_impossible_redundant_records_are_refused(void **state)
{
	static const struct redundant_record records[] = {
		{0, {0, 0}, {0, 0}},
		{1, {1700000000, 6}, {1700000000, 5}},
	};
	struct redundant_record got;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		struct value value = encode_redundant(&records[i]);

		assert_false(decode_redundant(fields_of(&value, TABLE_REDUNDANT), &got));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_no_view_has_shown_gets_no_times,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(
			test_promotion_gives_times_to_the_file_and_its_folder, fixture_setup,
			fixture_teardown),
		cmocka_unit_test_setup_teardown(test_first_comparison_gives_times_to_folders_only,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_time_is_later_than_a_ctime_in_the_future,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_file_that_has_its_name_again_gets_a_time,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_folder_gets_a_time_if_its_ctime_hides_a_change,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_ctime_that_goes_back_gives_a_time,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(
			test_view_shows_what_it_has_when_the_index_is_opened_again, fixture_setup,
			fixture_teardown),
		cmocka_unit_test(test_redundant_records_are_decoded),
		cmocka_unit_test(test_redundant_record_of_an_earlier_format_is_decoded),
		cmocka_unit_test(test_totals_of_an_earlier_format_are_decoded),
		cmocka_unit_test(test_impossible_redundant_records_are_refused),
		cmocka_unit_test_setup_teardown(
			test_name_counts_in_its_directory_and_that_directory_in_its_parent,
			fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
