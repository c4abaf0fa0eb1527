/* SPDX-License-Identifier: MIT */
#include "index/audit.h"
#include "index/meta.h"

/* Adds files of this size in a group and returns it. */
static uint64_t add_copies(struct fixture *f, uint64_t size, uint64_t *ids, size_t count)
{
	new_files(f, size, ids, count);
	return add_group(f, (struct hash128){size, 0}, ids, count);
}

struct pending {
	uint64_t files, bytes;
};

static struct pending pending_of(const struct fixture *f)
{
	struct catalog_reader *reader = fixture_read(f);
	struct pending pending = {0};

	assert_int_equal(catalog_count_pending(reader, &pending.files, &pending.bytes), 0);
	catalog_read_end(reader);
	return pending;
}

/* ---- scans and the smallest size ----------------------------------------------------- */

static void test_numbers_of_scans_continue_after_a_restart(void **state)
{
	struct fixture *f = *state;
	uint32_t before = begin_scan(f, 1);

	assert_int_equal(begin_scan(f, 1), before + 1);
	fixture_reopen(f);
	assert_int_equal(begin_scan(f, 1), before + 2);
	assert_int_equal(totals_of(f).scans, before + 2);
}

static int next_scan_body(struct catalog_writer *w, void *context)
{
	uint32_t *scan = context;

	*scan = catalog_next_scan(w);
	return 0;
}

static void test_numbers_between_scans_count_as_scans(void **state)
{
	struct fixture *f = *state;
	uint32_t before = begin_scan(f, 7), next = 0;
	struct catalog_reader *reader;
	uint64_t min_size = 0;

	assert_int_equal(catalog_write(f->catalog, next_scan_body, &next), 0);
	assert_int_equal(next, before + 1);
	fixture_reopen(f);
	reader = fixture_read(f);
	assert_int_equal(catalog_get_min_size(reader, &min_size), 0);
	catalog_read_end(reader);
	assert_int_equal(min_size, 7);
	assert_int_equal(begin_scan(f, 7), before + 2);
}

static void test_first_scan_that_did_not_end_is_recorded(void **state)
{
	struct fixture *f = *state;
	uint32_t before = begin_scan(f, 1), next = 0;

	fixture_reopen(f);
	assert_int_equal(fixture_continue_scan(f), before + 1);
	assert_int_equal(catalog_write(f->catalog, next_scan_body, &next), 0);
	assert_int_equal(fixture_continue_scan(f), before + 3);
	assert_int_equal(totals_of(f).unended, before);
	assert_int_equal(begin_scan(f, 1), before + 4);
	assert_int_equal(totals_of(f).unended, before + 4);
	audit_index(f->catalog);
}

static void test_larger_minimum_dissolves_groups_of_smaller_files(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[3][3], groups[3];

	groups[0] = add_copies(f, 10, ids[0], 3);
	groups[1] = add_copies(f, 99, ids[1], 2);
	groups[2] = add_copies(f, 100, ids[2], 2);
	begin_scan(f, 100);
	assert_int_equal(group_at(f, groups[0]).id, 0);
	assert_int_equal(group_at(f, groups[1]).id, 0);
	assert_int_equal(group_at(f, groups[2]).inodes, 2);
	assert_int_equal(content_of(f, ids[0][1]).prefix, 0);
	assert_int_equal(totals_of(f).groups, 1);
	audit_index(f->catalog);
	assert_int_equal(pending_of(f).files, 0);
	begin_scan(f, 50);
	assert_int_equal(pending_of(f).files, 2);
	assert_int_equal(pending_of(f).bytes, 198);
	begin_scan(f, 0);
	assert_int_equal(pending_of(f).files, 5);
	audit_index(f->catalog);
}

/* Names are moved while the scan is stopped: the files are orphans until the next scan. */
static void test_group_of_orphans_obeys_a_larger_minimum(void **state)
{
	struct fixture *f = *state;
	struct attributes attributes[2];
	uint64_t ids[2];

	add_copies(f, 10, ids, 2);
	for (size_t i = 0; i < 2; i++) {
		struct file_record file = file_at(f, ids[i]);
		struct name_change *change = fixture_change(f, NAME_REMOVE);

		attributes[i] = file.attributes;
		change->dir = file.dir;
		change->cookie = file.cookie;
	}
	fixture_commit(f);
	begin_scan(f, 100);
	add_file(f, f->roots[0], "x", attributes[0]);
	add_file(f, f->roots[0], "y", attributes[1]);
	fixture_commit(f);
	assert_int_equal(totals_of(f).groups, 0);
	audit_index(f->catalog);
}

static void test_unread_files_of_a_shared_size_are_pending(void **state)
{
	struct fixture *f = *state;
	uint64_t ids[2];

	add_file(f, f->roots[0], "alone", file_of(1, 1000, 0));
	add_file(f, f->roots[0], "empty", file_of(2, 0, 0));
	add_file(f, f->roots[0], "empty too", file_of(3, 0, 0));
	fixture_commit(f);
	assert_int_equal(pending_of(f).files, 0);
	add_copies(f, 10, ids, 2);
	assert_int_equal(pending_of(f).files, 0);
	add_file(f, f->roots[0], "third", file_of(4, 10, 0));
	add_file(f, f->roots[0], "not alone", file_of(5, 1000, 0));
	fixture_commit(f);
	assert_int_equal(pending_of(f).files, 3);
	assert_int_equal(pending_of(f).bytes, 2010);
}

/* ---- content ------------------------------------------------------------------------- */

static uint64_t digest_of(const struct fixture *f, uint64_t id)
{
	const struct file_record file = file_at(f, id);

	return file_digest(&file);
}

static void test_content_read_from_another_state_of_the_file_is_refused(void **state)
{
	struct fixture *f = *state;
	struct attributes before = file_of(10, 100, 0), after = file_of(10, 100, 1);
	struct content_change change = {.prefix = 5};

	add_file(f, f->roots[0], "a", before);
	fixture_commit(f);
	change.file = id_at(f, f->roots[0], "a");
	change.digest = digest_of(f, change.file);
	update_file(f, change.file, after);
	fixture_commit(f);
	assert_int_equal(set_content_change(f, &change), CONTENT_STALE);
	assert_int_equal(content_of(f, change.file).prefix, 0);
	change.digest = digest_of(f, change.file);
	assert_int_equal(set_content_change(f, &change), 0);
	assert_int_equal(content_of(f, change.file).prefix, 5);
	remove_name(f, f->roots[0], "a");
	fixture_commit(f);
	assert_int_equal(set_content_change(f, &change), CONTENT_STALE);
	assert_false(purge_orphans(f, 10));
	assert_int_equal(set_content_change(f, &change), CONTENT_STALE);
	audit_index(f->catalog);
}

/* ---- errors -------------------------------------------------------------------------- */

static void test_errors_are_counted_once_and_listed(void **state)
{
	struct fixture *f = *state;
	struct catalog_scan *scan = NULL;
	struct catalog_reader *reader;
	struct error_entry entry;
	uint64_t id;

	add_file(f, f->roots[0], "a", file_of(10, 100, 0));
	fixture_commit(f);
	id = id_at(f, f->roots[0], "a");
	set_error(f, ERROR_FILE, id, EIO);
	set_error(f, ERROR_FILE, id, EACCES);
	set_error(f, ERROR_DIR, f->roots[1], EIO);
	set_error(f, ERROR_DIR, f->roots[0], 0);
	assert_int_equal(totals_of(f).errors, 2);
	reader = fixture_read(f);
	assert_int_equal(catalog_scan_errors(reader, &scan), 0);
	assert_int_equal(catalog_next_error(scan, &entry), 0);
	assert_true(entry.kind == ERROR_DIR && entry.id == f->roots[1] && entry.error == EIO);
	assert_int_equal(catalog_next_error(scan, &entry), 0);
	assert_true(entry.kind == ERROR_FILE && entry.id == id && entry.error == EACCES);
	assert_int_equal(catalog_next_error(scan, &entry), -ENOENT);
	catalog_scan_end(scan);
	catalog_read_end(reader);
	set_error(f, ERROR_FILE, id, 0);
	set_error(f, ERROR_DIR, f->roots[1], 0);
	set_error(f, ERROR_DIR, f->roots[1], 0);
	assert_int_equal(totals_of(f).errors, 0);
	audit_index(f->catalog);
}

/* ---- sources ------------------------------------------------------------------------- */

struct long_source {
	const char *path;
	uint64_t root;
};

static int long_source_body(struct catalog_writer *w, void *context)
{
	const struct long_source *source = context;
	struct attributes root = dir_of(3);

	return catalog_add_source(w, 2, source->path, &root, source->root);
}

static void test_source_path_of_any_length_is_stored(void **state)
{
	static const size_t lengths[] = {1, 255, 256, 257, 511, 512, 513, 4095, 10000};
	struct fixture *f = *state;
	struct catalog_reader *reader;

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct bytes path CLEANUP_BYTES = {0};
		char *text = malloc(lengths[i] + 1);
		struct long_source source = {text, catalog_new_id(f->catalog)};
		uint64_t root;

		assert_non_null(text);
		memset(text, '/', lengths[i]);
		for (size_t at = 1; at < lengths[i]; at++)
			text[at] = (char)('a' + at % 26);
		text[lengths[i]] = '\0';
		assert_int_equal(catalog_write(f->catalog, long_source_body, &source), 0);
		reader = fixture_read(f);
		assert_int_equal(catalog_get_source(reader, 2, &path, &root), 0);
		catalog_read_end(reader);
		assert_string_equal(bytes_text(&path), text);
		assert_int_equal(root, source.root);
		free(text);
	}
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_numbers_of_scans_continue_after_a_restart),
		CASE(test_numbers_between_scans_count_as_scans),
		CASE(test_first_scan_that_did_not_end_is_recorded),
		CASE(test_larger_minimum_dissolves_groups_of_smaller_files),
		CASE(test_group_of_orphans_obeys_a_larger_minimum),
		CASE(test_unread_files_of_a_shared_size_are_pending),
		CASE(test_content_read_from_another_state_of_the_file_is_refused),
		CASE(test_errors_are_counted_once_and_listed),
		CASE(test_source_path_of_any_length_is_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
