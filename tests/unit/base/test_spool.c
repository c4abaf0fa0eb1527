/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/descriptor.h"
#include "base/new_file.h"
#include "unit_test.h"

static void test_copy_of_a_spool_has_the_size_of_all_writes(void **state)
{
	static char block[100000];
	AUTO_CLOSE int spool = spool_open();
	AUTO_CLOSE int to = memfd_create("to", MFD_CLOEXEC);
	struct stat status;

	(void)state;
	assert_true(spool >= 0);
	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 5; i++)
		assert_int_equal(write_fully(spool, block, sizeof(block)), 0);
	assert_int_equal(spool_copy(spool, to), 0);
	assert_int_equal(fstat(to, &status), 0);
	assert_int_equal(status.st_size, 5 * sizeof(block));
}

static void test_spool_has_no_name_and_is_private(void **state)
{
	AUTO_CLOSE int spool = spool_open();
	struct stat status;

	(void)state;
	assert_int_equal(fstat(spool, &status), 0);
	assert_int_equal(status.st_nlink, 0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

static void test_full_disk_is_reported(void **state)
{
	AUTO_CLOSE int spool = spool_open();
	AUTO_CLOSE int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(write_fully(spool, "text", 4), 0);
	assert_int_equal(spool_copy(spool, full), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copy_of_a_spool_has_the_size_of_all_writes),
		cmocka_unit_test(test_spool_has_no_name_and_is_private),
		cmocka_unit_test(test_full_disk_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
