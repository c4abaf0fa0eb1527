/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <sys/wait.h>

#include "index/audit.h"
#include "index/writer.h"
#include "twinfs/format.h"

static void add_and_commit(struct fixture *f, const char *name, uint64_t inode)
{
	(void)new_file(f, f->roots[0], name, file_of(inode, 100, 0));
}

static int read_body(struct catalog_writer *w, void *context)
{
	struct catalog_totals totals;

	(void)context;
	return catalog_get_totals(catalog_writer_reader(w), &totals);
}

static void test_seal_stays_until_the_first_change(void **state)
{
	struct fixture *f = *state;

	fixture_reopen(f);
	assert_true(has_file(f, TWINFS_INDEX_SEAL));
	assert_int_equal(catalog_write(f->catalog, read_body, NULL), 0);
	assert_true(has_file(f, TWINFS_INDEX_SEAL));
	add_and_commit(f, "a", 10);
	assert_false(has_file(f, TWINFS_INDEX_SEAL));
	fixture_reopen(f);
	assert_true(has_file(f, TWINFS_INDEX_SEAL));
}

/* A change of the data file that is not committed can have been written already. */
static int change_and_fail_body(struct catalog_writer *w, void *context)
{
	int r = catalog_set_min_size(w, 12345);

	assert_int_equal(r, 0);
	assert_false(has_file(context, TWINFS_INDEX_SEAL));
	return -ECANCELED;
}

static void test_seal_is_removed_before_a_change_is_written(void **state)
{
	struct fixture *f = *state;

	fixture_reopen(f);
	assert_int_equal(catalog_write(f->catalog, change_and_fail_body, f), -ECANCELED);
	assert_false(has_file(f, TWINFS_INDEX_SEAL));
	fixture_reopen(f);
	assert_true(has_file(f, TWINFS_INDEX_SEAL));
	audit_index(f->catalog);
}

static int set_body(struct catalog_writer *w, void *context)
{
	(void)context;
	return catalog_set_min_size(w, 12345);
}

static void test_change_fails_if_the_seal_cannot_be_removed(void **state)
{
	struct fixture *f = *state;
	int folder_fd, null = open("/dev/null", O_PATH | O_CLOEXEC);

	fixture_reopen(f);
	folder_fd = f->catalog->folder_fd;
	f->catalog->folder_fd = null;
	assert_int_equal(catalog_write(f->catalog, set_body, NULL), -ENOTDIR);
	f->catalog->folder_fd = folder_fd;
	assert_int_equal(close(null), 0);
	assert_true(has_file(f, TWINFS_INDEX_SEAL));
	add_and_commit(f, "a", 10);
	assert_false(has_file(f, TWINFS_INDEX_SEAL));
	audit_index(f->catalog);
}

static void test_untrusted_or_damaged_index_loses_its_seal(void **state)
{
	static const int results[] = {-ENOENT, -EUCLEAN};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		fixture_reopen(f);
		assert_true(has_file(f, TWINFS_INDEX_SEAL));
		catalog_judge(f->catalog, results[i]);
		assert_false(has_file(f, TWINFS_INDEX_SEAL));
		fixture_reopen(f);
	}
	fixture_reopen(f);
	catalog_distrust(f->catalog);
	assert_false(has_file(f, TWINFS_INDEX_SEAL));
}

/* Opens the index in a child, which exits without closing it, as a killed process does. */
static void open_and_be_killed(struct fixture *f)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(fixture_open_code(f) != CATALOG_OPENED);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static uint64_t data_inode(const struct fixture *f)
{
	struct stat status;

	assert_int_equal(stat(path_in(f, TWINFS_INDEX_DATA), &status), 0);
	return status.st_ino;
}

/* A check copies the records to a new data file. The killed process has possibly crashed because of
 * a record that it wrote itself. */
static void test_sealed_index_of_a_killed_process_is_checked(void **state)
{
	struct fixture *f = *state;
	uint64_t before;

	catalog_close(f->catalog);
	open_and_be_killed(f);
	assert_true(has_file(f, TWINFS_INDEX_SEAL));
	before = data_inode(f);
	fixture_open(f);
	assert_true(data_inode(f) != before);
	assert_false(has_file(f, TWINFS_INDEX_SEAL));
	assert_false(has_file(f, TWINFS_INDEX_DAMAGED));
	fixture_reopen(f);
	before = data_inode(f);
	fixture_reopen(f);
	assert_true(data_inode(f) == before);
	audit_index(f->catalog);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_seal_stays_until_the_first_change),
		CASE(test_seal_is_removed_before_a_change_is_written),
		CASE(test_change_fails_if_the_seal_cannot_be_removed),
		CASE(test_untrusted_or_damaged_index_loses_its_seal),
		CASE(test_sealed_index_of_a_killed_process_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
