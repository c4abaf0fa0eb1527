/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/metadata.h"
#include "folder.h"
#include "unit_test.h"

/* Returns a descriptor, or -1 without extended attributes. */
static int open_file(const struct folder *folder, const char *name)
{
	int fd;

	make_file(folder->fd, name, "", 0);
	fd = openat(folder->fd, name, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	if (lacks(fsetxattr(fd, "user.probe", "", 0, 0) < 0, "extended attributes")) {
		(void)close(fd);
		return -1;
	}
	assert_int_equal(fremovexattr(fd, "user.probe"), 0);
	return fd;
}

static void test_written_attributes_are_read_back_in_order(void **state)
{
	const struct folder *folder = *state;
	struct xattrs written CLEANUP_XATTRS = {0}, read CLEANUP_XATTRS = {0};
	int fd = open_file(folder, "a");
	uint64_t refused = 0;

	if (fd < 0)
		return;
	assert_int_equal(xattrs_add(&written, "user.b", "any \0 bytes", 11), 0);
	assert_int_equal(xattrs_add(&written, "user.a", "", 0), 0);
	assert_int_equal(xattrs_add(&written, "user.\xff\n", "c", 1), 0);
	assert_string_equal(written.list[0].name, "user.a");
	assert_int_equal(xattrs_write(&written, fd, &refused), 0);
	assert_int_equal(xattrs_read(&read, fd), 0);
	assert_int_equal(refused, 0);
	assert_true(xattrs_equal(&written, &read));
	(void)close(fd);
}

static void test_duplicate_name_is_refused(void **state)
{
	struct xattrs xattrs CLEANUP_XATTRS = {0};

	(void)state;
	assert_int_equal(xattrs_add(&xattrs, "user.a", "1", 1), 0);
	assert_int_equal(xattrs_add(&xattrs, "user.a", "2", 1), -EEXIST);
	assert_int_equal(xattrs.count, 1);
}

static void test_other_values_are_not_equal(void **state)
{
	struct xattrs a CLEANUP_XATTRS = {0}, b CLEANUP_XATTRS = {0};

	(void)state;
	assert_true(xattrs_equal(&a, &b));
	assert_int_equal(xattrs_add(&a, "user.a", "1", 1), 0);
	assert_false(xattrs_equal(&a, &b));
	assert_int_equal(xattrs_add(&b, "user.a", "2", 1), 0);
	assert_false(xattrs_equal(&a, &b));
	xattrs_clear(&b);
	assert_int_equal(xattrs_add(&b, "user.b", "1", 1), 0);
	assert_false(xattrs_equal(&a, &b));
}

static void test_names_like_those_of_a_view_are_accepted(void **state)
{
	const struct folder *folder = *state;
	struct xattrs read CLEANUP_XATTRS = {0};
	int fd = open_file(folder, "a");

	if (fd < 0)
		return;
	assert_int_equal(fsetxattr(fd, "user.twinfs.path", "/a", 2, 0), 0);
	assert_int_equal(xattrs_read(&read, fd), 0);
	assert_int_equal(read.count, 1);
	(void)close(fd);
}

static void test_unsupported_attribute_is_counted_and_the_others_are_set(void **state)
{
	const struct folder *folder = *state;
	struct xattrs xattrs CLEANUP_XATTRS = {0}, read CLEANUP_XATTRS = {0};
	int fd = open_file(folder, "a");
	uint64_t refused = 0;

	if (fd < 0)
		return;
	assert_int_equal(xattrs_add(&xattrs, "nowhere.a", "1", 1), 0);
	assert_int_equal(xattrs_add(&xattrs, "user.z", "1", 1), 0);
	assert_int_equal(xattrs_write(&xattrs, fd, &refused), 0);
	assert_int_equal(refused, 1);
	assert_int_equal(xattrs_read(&read, fd), 0);
	assert_int_equal(read.count, 1);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_written_attributes_are_read_back_in_order),
		TEST_IN_FOLDER(test_duplicate_name_is_refused),
		TEST_IN_FOLDER(test_other_values_are_not_equal),
		TEST_IN_FOLDER(test_names_like_those_of_a_view_are_accepted),
		TEST_IN_FOLDER(test_unsupported_attribute_is_counted_and_the_others_are_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
