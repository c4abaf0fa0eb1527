/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <sys/stat.h>

#include "index/fixture.h"
#include "twinfs/format.h"

/* The catalog's number for the file system of a path. */
static uint32_t number_of(const struct fixture *f, const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);
	uint32_t number = 0;
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(catalog_filesystem(f->catalog, fd, st.st_dev, &number), 0);
	close(fd);
	assert_true(number > 0);
	return number;
}

static void commit_anything(struct fixture *f)
{
	fixture_next_scan(f);
}

static void test_each_file_system_has_a_number_of_its_own(void **state)
{
	struct fixture *f = *state;
	uint32_t proc = number_of(f, "/proc", O_PATH), own = number_of(f, f->folder, O_PATH);

	assert_int_not_equal(proc, own);
	assert_int_equal(number_of(f, "/proc/version", O_RDONLY), proc);
	assert_int_equal(number_of(f, f->folder, O_RDONLY), own);
}

static void test_numbers_outlive_a_restart_in_any_order(void **state)
{
	struct fixture *f = *state;
	uint32_t proc = number_of(f, "/proc", O_PATH), own = number_of(f, f->folder, O_PATH);
	uint32_t root = number_of(f, "/", O_PATH);

	commit_anything(f);
	for (int round = 0; round < 3; round++) {
		fixture_reopen(f);
		assert_int_equal(number_of(f, "/", O_PATH), root);
		assert_int_equal(number_of(f, f->folder, O_RDONLY), own);
		assert_int_equal(number_of(f, "/proc", O_PATH), proc);
		commit_anything(f);
	}
}

static void test_number_outlives_the_device(void **state)
{
	struct fixture *f = *state;
	uint32_t proc = number_of(f, "/proc", O_PATH), own = number_of(f, f->folder, O_PATH);
	struct stat st;

	assert_int_equal(stat(f->folder, &st), 0);
	catalog_forget_device(f->catalog, st.st_dev);
	assert_int_equal(number_of(f, "/proc", O_PATH), proc);
	assert_int_equal(number_of(f, f->folder, O_PATH), own);
}

static void test_file_system_is_confirmed_by_its_identity(void **state)
{
	struct fixture *f = *state;
	uint32_t proc = number_of(f, "/proc", O_PATH), own = number_of(f, f->folder, O_PATH);
	int fd = open(f->folder, O_PATH | O_CLOEXEC);
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(stat(f->folder, &st), 0);
	assert_true(catalog_confirm_filesystem(f->catalog, fd, st.st_dev, own));
	assert_false(catalog_confirm_filesystem(f->catalog, fd, st.st_dev, proc));
	assert_false(catalog_confirm_filesystem(f->catalog, fd, st.st_dev, proc + own + 1));
	assert_int_equal(number_of(f, f->folder, O_PATH), own);
	(void)close(fd);
	/* the st_dev of /proc belongs to this file system now */
	assert_int_equal(stat("/proc", &st), 0);
	fd = open(f->folder, O_PATH | O_CLOEXEC);
	assert_false(catalog_confirm_filesystem(f->catalog, fd, st.st_dev, proc));
	assert_true(catalog_confirm_filesystem(f->catalog, fd, st.st_dev, own));
	(void)close(fd);
}

static int fail_body(struct catalog_writer *w, void *context)
{
	(void)w;
	(void)context;
	return -EIO;
}

static void test_number_that_a_failed_commit_did_not_store_is_stored_by_the_next(void **state)
{
	struct fixture *f = *state;
	uint32_t own, proc;

	own = number_of(f, f->folder, O_PATH);
	proc = number_of(f, "/proc", O_PATH);
	assert_int_equal(catalog_write(f->catalog, fail_body, NULL), -EIO);
	commit_anything(f);
	fixture_reopen(f);
	assert_int_equal(number_of(f, "/proc", O_PATH), proc);
	assert_int_equal(number_of(f, f->folder, O_PATH), own);
}

static void test_any_kind_of_descriptor_gives_the_same_number(void **state)
{
	struct fixture *f = *state;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", f->folder, TWINFS_INDEX_DATA);
	for (int round = 0; round < 2; round++) {
		/* the first descriptor after a start determines how the file system is
		 * identified */
		uint32_t number =
			round ? number_of(f, f->folder, O_RDONLY) : number_of(f, path, O_PATH);

		assert_int_equal(number_of(f, f->folder, O_PATH), number);
		commit_anything(f);
		fixture_reopen(f);
		assert_int_equal(number_of(f, f->folder, O_RDONLY), number);
	}
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_each_file_system_has_a_number_of_its_own),
		CASE(test_numbers_outlive_a_restart_in_any_order),
		CASE(test_number_outlives_the_device),
		CASE(test_file_system_is_confirmed_by_its_identity),
		CASE(test_number_that_a_failed_commit_did_not_store_is_stored_by_the_next),
		CASE(test_any_kind_of_descriptor_gives_the_same_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
