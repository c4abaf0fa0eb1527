/* SPDX-License-Identifier: MIT */
#include <jansson.h>

#include "fleet/inventory.h"
#include "index/fixture.h"
#include "index/source.h"

/* What the process that maintains the index does while the inventory waits for it. */
struct maintainer {
	struct fixture *f;
	void (*acts)(struct fixture *f);
	bool repeats; /* the inode number of the lost file was used for another one before */
	int result;
	int calls;
};

static int await_changes(void *context)
{
	struct maintainer *maintainer = context;

	if (maintainer->calls++ == 0 && maintainer->acts)
		maintainer->acts(maintainer->f);
	return maintainer->result;
}

/* Writes the inventory of an index with one file that has a name, and one that has lost its last
 * one. Their sizes differ, so no file is pending. Returns the manifest, which the caller frees. */
static json_t *inventory_of(struct maintainer *maintainer, bool outdated,
			    struct inventory_result *result)
{
	struct fixture *f = maintainer->f;
	char one[] = "/one", two[] = "/two";
	struct source list[] = {{.path = one, .fd = -1}, {.path = two, .fd = -1}};
	const struct sources sources = {.catalog = f->catalog, .list = list, .count = 2};
	const struct row_set_settings settings = {path_in(f, "set"), INVENTORY_FORMAT, "inventory",
						  "alpha"};
	const struct inventory_task task = {
		.sources = &sources,
		.outdated = outdated,
		.progress = PROGRESS_NEVER,
		.await_changes = await_changes,
		.context = maintainer,
	};
	struct row_set set;
	json_t *manifest;

	if (maintainer->repeats) {
		struct attributes earlier = file_of(10, 1, 0);

		earlier.btime.tv_sec--;
		(void)new_file(f, f->roots[0], "lost", earlier);
		remove_and_commit(f, f->roots[0], "lost");
	}
	(void)new_file(f, f->roots[0], "lost", file_of(10, 1, 0));
	(void)new_file(f, f->roots[0], "stays", file_of(11, 2, 0));
	remove_and_commit(f, f->roots[0], "lost");
	assert_int_equal(row_set_begin(&set, &settings), 0);
	assert_int_equal(inventory_write(&task, &set, result), 0);
	row_set_deinit(&set);
	manifest = json_load_file(path_in(f, "set/manifest.json"), 0, NULL);
	assert_non_null(manifest);
	return manifest;
}

static json_int_t number_of(const json_t *manifest, const char *member)
{
	return json_integer_value(json_object_get(manifest, member));
}

/* Checks the numbers of rows and of files that the inventory lacks. */
static void assert_figures(struct maintainer *maintainer, json_int_t rows, json_int_t missed)
{
	struct inventory_result result;
	json_t *manifest = inventory_of(maintainer, false, &result);

	assert_int_equal(result.rows, rows);
	assert_int_equal(result.missed, missed);
	assert_int_equal(number_of(manifest, "rows"), rows);
	assert_int_equal(number_of(manifest, "pending"), missed);
	assert_int_equal(number_of(manifest, "errors"), 0);
	json_decref(manifest);
}

static void find_again(struct fixture *f)
{
	(void)new_file(f, f->roots[1], "found", file_of(10, 1, 0));
}

static void test_renamed_file_has_a_row(void **state)
{
	struct maintainer maintainer = {.f = *state, .acts = find_again};

	assert_figures(&maintainer, 2, 0);
	assert_int_equal(maintainer.calls, 1);
}

static void forget(struct fixture *f)
{
	while (purge_orphans(f, 10))
		continue;
}

static void test_removed_file_has_no_row(void **state)
{
	struct maintainer maintainer = {.f = *state, .acts = forget};

	assert_figures(&maintainer, 1, 0);
	assert_int_equal(maintainer.calls, 1);
}

static void forget_and_find_again(struct fixture *f)
{
	forget(f);
	find_again(f);
}

static void test_renamed_file_with_a_new_id_has_a_row(void **state)
{
	struct maintainer maintainer = {.f = *state, .acts = forget_and_find_again};

	assert_figures(&maintainer, 2, 0);
}

static void test_renamed_file_with_a_used_inode_number_has_one_row(void **state)
{
	struct maintainer maintainer = {.f = *state,
					.acts = forget_and_find_again,
					.repeats = true};

	assert_figures(&maintainer, 2, 0);
}

static void test_file_with_a_used_inode_number_is_counted_once(void **state)
{
	struct maintainer maintainer = {.f = *state, .repeats = true};

	assert_figures(&maintainer, 1, 1);
}

static void forget_and_find_another(struct fixture *f)
{
	forget(f);
	(void)new_file(f, f->roots[1], "other", file_of(12, 3, 0));
}

static void test_file_that_is_new_meanwhile_has_no_row(void **state)
{
	struct maintainer maintainer = {.f = *state, .acts = forget_and_find_another};

	assert_figures(&maintainer, 1, 0);
}

static void test_file_that_stays_without_a_name_is_counted(void **state)
{
	struct maintainer maintainer = {.f = *state};

	assert_figures(&maintainer, 1, 1);
	assert_true(maintainer.calls > 1);
}

static void test_file_is_counted_if_changes_cannot_be_awaited(void **state)
{
	struct maintainer maintainer = {.f = *state, .result = INVENTORY_NOT_AWAITED};

	assert_figures(&maintainer, 1, 1);
	assert_int_equal(maintainer.calls, 1);
}

static void test_outdated_index_is_an_error_in_the_manifest(void **state)
{
	struct maintainer maintainer = {.f = *state, .acts = forget};
	struct inventory_result result;
	json_t *manifest = inventory_of(&maintainer, true, &result);

	assert_int_equal(number_of(manifest, "errors"), 1);
	assert_int_equal(result.errors, 0);
	json_decref(manifest);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_renamed_file_has_a_row),
		CASE(test_removed_file_has_no_row),
		CASE(test_renamed_file_with_a_new_id_has_a_row),
		CASE(test_renamed_file_with_a_used_inode_number_has_one_row),
		CASE(test_file_with_a_used_inode_number_is_counted_once),
		CASE(test_file_that_is_new_meanwhile_has_no_row),
		CASE(test_file_that_stays_without_a_name_is_counted),
		CASE(test_file_is_counted_if_changes_cannot_be_awaited),
		CASE(test_outdated_index_is_an_error_in_the_manifest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
