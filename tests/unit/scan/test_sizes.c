/* SPDX-License-Identifier: MIT */
#include "base/stop.h"
#include "index/audit.h"
#include "scan/ingest.h"

#define FILES 20
#define RUN_IDS 7
#define MANY 40000

static int defer_body(struct catalog_writer *w, void *context)
{
	(void)context;
	return catalog_defer_lists(w);
}

/* One listed file, then twenty of descending sizes that are not listed. */
static int setup_deferred(void **state)
{
	static char names[FILES][8];
	struct fixture *f;

	fixture_setup(state);
	f = *state;
	add_file(f, f->roots[0], "listed", file_of(999, 100, 0));
	fixture_commit(f);
	assert_int_equal(catalog_write(f->catalog, defer_body, NULL), 0);
	for (unsigned int i = 0; i < FILES; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%02u", i);
		add_file(f, f->roots[0], names[i], file_of(1000 + i, 200 - i, 0));
	}
	fixture_commit(f);
	return 0;
}

/* Counts the listed files and checks their order. */
static size_t count_listed(const struct fixture *f)
{
	struct catalog_reader *reader = fixture_read(f);
	struct size_entry entry = {0}, last = {0};
	struct catalog_scan *scan = NULL;
	size_t count = 0;

	assert_int_equal(catalog_scan_sizes(reader, &entry, &scan), 0);
	while (catalog_next_size(scan, &entry) == 0) {
		assert_true(entry.size > last.size);
		last = entry;
		count++;
	}
	catalog_scan_end(scan);
	catalog_read_end(reader);
	return count;
}

static void assert_all_listed(const struct fixture *f, size_t count)
{
	assert_int_equal(count_listed(f), count);
	assert_int_equal(totals_of(f).unlisted, 0);
	assert_consistent(f);
	audit_index(f->catalog);
}

static void test_files_are_listed_in_runs(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(count_listed(f), 1);
	assert_consistent(f);
	assert_int_equal(ingest_list_sizes(f->catalog, RUN_IDS), 0);
	assert_all_listed(f, FILES + 1);
	assert_int_equal(ingest_list_sizes(f->catalog, RUN_IDS), 0); /* nothing is left to do */
	assert_all_listed(f, FILES + 1);
}

/* After a kill, a file that is in one of the lists only would be damage. */
static void test_run_is_listed_in_one_transaction(void **state)
{
	static char names[MANY][8];
	struct fixture *f = *state;
	uint64_t before;

	for (unsigned int i = 0; i < MANY; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "m%u", i);
		add_file(f, f->roots[0], names[i], file_of(5000 + i, MANY + 1000 - i, 0));
		if (i % FIXTURE_CHANGES_MAX == FIXTURE_CHANGES_MAX - 1)
			fixture_commit(f);
	}
	fixture_commit(f);
	before = totals_of(f).generation;
	assert_int_equal(ingest_list_sizes(f->catalog, SIZES_RUN_IDS), 0);
	assert_int_equal(totals_of(f).generation, before + 1);
	assert_all_listed(f, FILES + MANY + 1);
}

static void test_listing_continues_after_a_restart(void **state)
{
	struct fixture *f = *state;

	fixture_reopen(f);
	add_file(f, f->roots[0], "later", file_of(2000, 300, 0));
	fixture_commit(f);
	assert_int_equal(count_listed(f), 1);
	assert_int_equal(ingest_list_sizes(f->catalog, RUN_IDS), 0);
	assert_all_listed(f, FILES + 2);
}

static void test_earlier_changes_are_listed(void **state)
{
	struct fixture *f = *state;
	struct attributes link = file_of(3000, 7, 0);

	update_file(f, id_at(f, f->roots[0], "03"), file_of(1003, 500, 1));
	remove_name(f, f->roots[0], "04");
	remove_name(f, f->roots[0], "listed");
	link.mode = S_IFLNK | 0777;
	add_file(f, f->roots[0], "symlink", link);
	add_file(f, f->roots[0], "hard-link", file_of(1005, 200 - 5, 0));
	fixture_commit(f);
	assert_int_equal(count_listed(f), 0);
	assert_consistent(f);
	assert_int_equal(ingest_list_sizes(f->catalog, RUN_IDS), 0);
	assert_all_listed(f, FILES - 1);
}

struct half_listed {
	uint64_t ids[FILES];
	struct size_entry listed[FILES / 2];
	struct deferred_file joined[FILES / 2];
};

/* Gives files one content, and lists the first half of them. */
static int group_and_list_body(struct catalog_writer *w, void *context)
{
	struct half_listed *files = context;
	const uint64_t *ids = files->ids;
	struct content_change change = {.prefix = 7};
	int r = catalog_add_deferred_group(w, (struct hash128){1, 2}, 100, &change.group);

	for (unsigned int i = 0; r == 0 && i < FILES; i++) {
		change.file = ids[i];
		r = catalog_add_deferred_content(w, &change);
		if (i >= FILES / 2)
			continue;
		files->listed[i] = (struct size_entry){100, 7, change.group, ids[i]};
		files->joined[i] =
			(struct deferred_file){.size = 100, .group = change.group, .file = ids[i]};
	}
	if (r == 0)
		r = catalog_list_deferred(w, files->listed, FILES / 2);
	if (r == 0)
		r = catalog_join_deferred(w, files->joined, FILES / 2);
	catalog_set_unlisted(w, ids[FILES / 2]);
	return r;
}

/* As after a kill between two runs: the group has members, and files that are no members yet. */
static void test_file_is_not_redundant_before_it_is_listed(void **state)
{
	static char names[FILES][8];
	struct fixture *f = *state;
	struct half_listed files;

	assert_int_equal(catalog_write(f->catalog, defer_body, NULL), 0);
	for (unsigned int i = 0; i < FILES; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%02u", i);
		add_file(f, f->roots[0], names[i], file_of(1000 + i, 100, 0));
		fixture_commit(f);
		files.ids[i] = id_at(f, f->roots[0], names[i]);
	}
	assert_int_equal(catalog_write(f->catalog, group_and_list_body, &files), 0);
	assert_consistent(f);
	remove_name(f, f->roots[0], names[FILES - 1]);
	fixture_commit(f);
	assert_consistent(f);
	assert_int_equal(totals_of(f).redundant_files, FILES / 2 - 1);
	assert_int_equal(ingest_list_sizes(f->catalog, RUN_IDS), 0);
	assert_int_equal(totals_of(f).redundant_files, FILES - 2);
	assert_consistent(f);
	audit_index(f->catalog);
}

static void test_content_of_an_unlisted_file_is_refused(void **state)
{
	struct fixture *f = *state;
	uint64_t id = id_at(f, f->roots[0], "00");
	const struct file_record file = file_at(f, id);
	struct content_change change = {.file = id, .digest = file_digest(&file), .prefix = 1};

	assert_int_equal(set_content_change(f, &change), CONTENT_STALE);
	assert_int_equal(ingest_list_sizes(f->catalog, RUN_IDS), 0);
	assert_int_equal(set_content_change(f, &change), 0);
	assert_all_listed(f, FILES + 1);
}

static void test_stopped_listing_leaves_the_index_consistent(void **state)
{
	struct fixture *f = *state;

	stop_request();
	assert_int_equal(ingest_list_sizes(f->catalog, RUN_IDS), 0);
	assert_int_equal(count_listed(f), 1);
	assert_consistent(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_files_are_listed_in_runs, setup_deferred,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_file_is_not_redundant_before_it_is_listed,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_run_is_listed_in_one_transaction,
						setup_deferred, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_listing_continues_after_a_restart,
						setup_deferred, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_earlier_changes_are_listed, setup_deferred,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_content_of_an_unlisted_file_is_refused,
						setup_deferred, fixture_teardown),
		/* the last test, as a stop cannot be undone */
		cmocka_unit_test_setup_teardown(test_stopped_listing_leaves_the_index_consistent,
						setup_deferred, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
