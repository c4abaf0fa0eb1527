/* SPDX-License-Identifier: MIT */
#include "index/fixture.h"
#include "index/scan_settings.h"

static int set_body(struct catalog_writer *w, void *context)
{
	return catalog_set_scan_settings(w, context);
}

static void assert_stored(const struct fixture *f, struct scan_settings *expected)
{
	struct catalog_reader *reader = fixture_read(f);
	struct scan_settings found CLEANUP_SCAN_SETTINGS = {0};

	assert_int_equal(catalog_get_scan_settings(reader, &found), 0);
	catalog_read_end(reader);
	assert_int_equal(found.cross_mounts, expected->cross_mounts);
	assert_int_equal(found.disk, expected->disk);
	assert_int_equal(bytes_compare(&found.excludes, &expected->excludes), 0);
}

static void store(const struct fixture *f, struct scan_settings *settings)
{
	assert_int_equal(catalog_write(f->catalog, set_body, settings), 0);
	assert_stored(f, settings);
	assert_int_equal(catalog_check(f->folder), CATALOG_OPENED);
}

static void test_index_that_was_never_scanned_has_the_defaults(void **state)
{
	struct scan_settings defaults = {0};

	assert_stored(*state, &defaults);
}

static void test_globs_are_sorted_and_unique(void **state)
{
	struct scan_settings one CLEANUP_SCAN_SETTINGS = {0};
	struct scan_settings other CLEANUP_SCAN_SETTINGS = {0};
	char a[] = "a", b[] = "b", star[] = "b*";
	char *const globs[] = {star, a, b, NULL};
	char *const again[] = {b, star, a, b, a, NULL};

	(void)state;
	assert_int_equal(scan_settings_set_excludes(&one, globs), 0);
	assert_int_equal(scan_settings_set_excludes(&other, again), 0);
	assert_int_equal(one.excludes.length, 7);
	assert_memory_equal(one.excludes.data, "a\0b\0b*", 7);
	assert_int_equal(bytes_compare(&one.excludes, &other.excludes), 0);
	assert_int_equal(scan_settings_set_excludes(&other, NULL), 0);
	assert_int_equal(other.excludes.length, 0);
}

static void test_settings_with_further_globs_exclude_all_of_others(void **state)
{
	struct scan_settings few CLEANUP_SCAN_SETTINGS = {0};
	struct scan_settings many CLEANUP_SCAN_SETTINGS = {0};
	const struct scan_settings none = {0};
	char a[] = "a", b[] = "b", ab[] = "ab";
	char *const one[] = {b, NULL};
	char *const all[] = {ab, b, a, NULL};

	(void)state;
	assert_int_equal(scan_settings_set_excludes(&few, one), 0);
	assert_int_equal(scan_settings_set_excludes(&many, all), 0);
	assert_true(scan_settings_exclude_all(&many, &few));
	assert_false(scan_settings_exclude_all(&few, &many));
	assert_true(scan_settings_exclude_all(&none, &none));
	assert_true(scan_settings_exclude_all(&few, &none));
	assert_false(scan_settings_exclude_all(&none, &few));
	assert_true(scan_settings_exclude(&many, "ab"));
	assert_false(scan_settings_exclude(&few, "a"));
	for (size_t i = 0; all[i]; i++)
		assert_true(scan_settings_exclude(&many, all[i]));
	assert_false(scan_settings_exclude(&many, ""));
	assert_false(scan_settings_exclude(&many, "zz"));
}

static void test_settings_of_any_length_replace_those_before(void **state)
{
	static const size_t lengths[] = {0, 1, 255, 256, 1000, 253, 3, 0};
	const struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct scan_settings settings CLEANUP_SCAN_SETTINGS = {.cross_mounts = i % 2 == 1,
								       .disk = (uint32_t)i % 3};
		char glob[1001];
		char *const globs[] = {lengths[i] > 0 ? glob : NULL, NULL};

		memset(glob, 'a' + (int)i, sizeof(glob));
		glob[lengths[i]] = '\0';
		assert_int_equal(scan_settings_set_excludes(&settings, globs), 0);
		store(f, &settings);
	}
}

static void test_same_settings_change_nothing(void **state)
{
	const struct fixture *f = *state;
	struct scan_settings settings CLEANUP_SCAN_SETTINGS = {.disk = 1};
	struct catalog_totals before, after;

	store(f, &settings);
	assert_int_equal(catalog_totals_now(f->catalog, &before), 0);
	store(f, &settings);
	assert_int_equal(catalog_totals_now(f->catalog, &after), 0);
	assert_int_equal(before.generation, after.generation);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_index_that_was_never_scanned_has_the_defaults),
		CASE(test_globs_are_sorted_and_unique),
		CASE(test_settings_with_further_globs_exclude_all_of_others),
		CASE(test_settings_of_any_length_replace_those_before),
		CASE(test_same_settings_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
