/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "capture.h"
#include "fleet/row_set.h"
#include "folder.h"

/* The most rows of a part. */
#define PART_ROWS 250000

#define PART_OF(generation) "set/generation-" generation "/part-00001" PART_FILE_SUFFIX

struct settings {
	struct row_set_settings settings;
	char path[80];
};

static struct row_set_settings *settings_in(struct settings *all, const struct folder *folder)
{
	(void)snprintf(all->path, sizeof(all->path), "%s/set", folder->path);
	all->settings = (struct row_set_settings){all->path, "twinfs-test", "test set", "alpha"};
	return &all->settings;
}

static void begin(struct row_set *set, const struct folder *folder)
{
	static struct settings settings;

	assert_int_equal(row_set_begin(set, settings_in(&settings, folder)), 0);
}

static void add(struct row_set *set, int count)
{
	static const struct field fields[] = {
		{.key = "number", .type = FIELD_COUNT, .required = true},
	};
	const uint32_t number = 1;

	for (int i = 0; i < count; i++)
		assert_int_equal(row_set_keep(set, &number, FIELDS(fields), 3), 0);
	assert_int_equal(row_set_write_waiting(set), 0);
}

static void commit(struct row_set *set)
{
	struct row_set_figures figures = {.index = 0x1f, .sources = json_array(), .pending = 5};

	assert_int_equal(row_set_commit(set, &figures), 0);
	json_decref(figures.sources);
	row_set_deinit(set);
}

static void write_set(const struct folder *folder, int rows)
{
	struct row_set set;

	begin(&set, folder);
	add(&set, rows);
	commit(&set);
}

static json_t *manifest_of(const struct folder *folder)
{
	char path[96];
	json_t *manifest;

	(void)snprintf(path, sizeof(path), "%s/set/manifest.json", folder->path);
	manifest = json_load_file(path, 0, NULL);
	assert_non_null(manifest);
	return manifest;
}

static json_int_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void test_parts_have_a_bounded_number_of_rows(void **state)
{
	const struct folder *folder = *state;
	json_t *manifest;
	json_t *parts;

	write_set(folder, PART_ROWS + 1);
	manifest = manifest_of(folder);
	parts = json_object_get(manifest, "parts");
	assert_int_equal(json_array_size(parts), 2);
	assert_int_equal(number_of(json_array_get(parts, 0), "rows"), PART_ROWS);
	assert_int_equal(number_of(json_array_get(parts, 1), "rows"), 1);
	assert_int_equal(number_of(manifest, "rows"), PART_ROWS + 1);
	assert_int_equal(number_of(manifest, "bytes"), 3 * (PART_ROWS + 1));
	json_decref(manifest);
}

static void test_last_part_can_be_full(void **state)
{
	const struct folder *folder = *state;
	json_t *manifest;

	write_set(folder, PART_ROWS);
	manifest = manifest_of(folder);
	assert_int_equal(json_array_size(json_object_get(manifest, "parts")), 1);
	json_decref(manifest);
}

static void test_manifest_has_the_figures(void **state)
{
	const struct folder *folder = *state;
	json_t *manifest;

	write_set(folder, 1);
	manifest = manifest_of(folder);
	assert_string_equal(json_string_value(json_object_get(manifest, "index")),
			    "000000000000001f");
	assert_string_equal(json_string_value(json_object_get(manifest, "host")), "alpha");
	assert_int_equal(number_of(manifest, "pending"), 5);
	assert_int_equal(number_of(manifest, "generation"), 1);
	json_decref(manifest);
}

static void test_new_set_replaces_the_old_one(void **state)
{
	const struct folder *folder = *state;
	json_t *manifest;

	write_set(folder, 1);
	write_set(folder, 2);
	manifest = manifest_of(folder);
	assert_int_equal(number_of(manifest, "generation"), 2);
	json_decref(manifest);
	assert_false(exists_at(folder->fd, "set/generation-1"));
	assert_true(exists_at(folder->fd, PART_OF("2")));
}

static void test_set_that_is_not_committed_leaves_nothing(void **state)
{
	const struct folder *folder = *state;
	struct row_set set;

	begin(&set, folder);
	add(&set, 1);
	assert_true(exists_at(folder->fd, PART_OF("1")));
	row_set_deinit(&set);
	assert_false(exists_at(folder->fd, "set"));
	write_set(folder, 1);
	begin(&set, folder);
	add(&set, 1);
	row_set_deinit(&set);
	assert_false(exists_at(folder->fd, "set/generation-2"));
	assert_true(exists_at(folder->fd, PART_OF("1")));
}

/* A killed process leaves its parts, and possibly a manifest that is not renamed yet. */
static void test_leftovers_are_removed_by_the_next_set(void **state)
{
	const struct folder *folder = *state;
	json_t *manifest;

	write_set(folder, 1);
	assert_int_equal(mkdirat(folder->fd, "set/generation-7", 0700), 0);
	make_file(folder->fd, "set/generation-7/part-00001.jsonl", "torn", 4);
	make_file(folder->fd, "set/manifest.json.new", "{", 1);
	write_set(folder, 1);
	manifest = manifest_of(folder);
	assert_int_equal(number_of(manifest, "generation"), 8);
	json_decref(manifest);
	assert_false(exists_at(folder->fd, "set/generation-7"));
	assert_false(exists_at(folder->fd, "set/manifest.json.new"));
}

/* Returns what is logged when the set cannot be begun. */
static const char *refusal(const struct folder *folder, const char *host)
{
	static struct capture capture;
	struct settings settings;
	struct row_set set;
	int r;

	settings_in(&settings, folder)->host = host;
	capture_begin(&capture, STDERR_FILENO);
	r = row_set_begin(&set, &settings.settings);
	row_set_deinit(&set);
	(void)capture_end(&capture);
	assert_int_equal(r, -EXDEV);
	return capture.text;
}

static void test_second_writer_is_refused(void **state)
{
	const struct folder *folder = *state;
	struct row_set set;

	begin(&set, folder);
	assert_non_null(strstr(refusal(folder, "alpha"), "another process"));
	row_set_deinit(&set);
}

static void test_set_of_another_host_is_refused(void **state)
{
	const struct folder *folder = *state;

	write_set(folder, 1);
	assert_non_null(strstr(refusal(folder, "beta"), "the host 'alpha', not of beta"));
	assert_true(exists_at(folder->fd, PART_OF("1")));
}

static void test_folder_with_foreign_files_is_refused(void **state)
{
	const struct folder *folder = *state;

	write_set(folder, 1);
	make_file(folder->fd, "set/generation-1/mine", "", 0);
	assert_non_null(strstr(refusal(folder, "alpha"), "other files"));
	assert_true(exists_at(folder->fd, "set/generation-1/mine"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_parts_have_a_bounded_number_of_rows),
		TEST_IN_FOLDER(test_last_part_can_be_full),
		TEST_IN_FOLDER(test_manifest_has_the_figures),
		TEST_IN_FOLDER(test_new_set_replaces_the_old_one),
		TEST_IN_FOLDER(test_set_that_is_not_committed_leaves_nothing),
		TEST_IN_FOLDER(test_leftovers_are_removed_by_the_next_set),
		TEST_IN_FOLDER(test_second_writer_is_refused),
		TEST_IN_FOLDER(test_set_of_another_host_is_refused),
		TEST_IN_FOLDER(test_folder_with_foreign_files_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
