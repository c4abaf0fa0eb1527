/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mountinfo.h"
#include "unit_test.h"

static void assert_decoded(const char *written, const char *meant)
{
	char word[64];

	(void)snprintf(word, sizeof(word), "%s", written);
	mountinfo_decode(word);
	assert_string_equal(word, meant);
}

static void test_octal_escapes_are_decoded(void **state)
{
	(void)state;
	assert_decoded("", "");
	assert_decoded("/a\\040b\\011c\\012d\\134e\\377", "/a b\tc\nd\\e\xff");
	assert_decoded("\\134040", "\\040"); /* once */
}

static void test_invalid_escape_is_left_unchanged(void **state)
{
	(void)state;
	assert_decoded("\\", "\\");
	assert_decoded("\\0", "\\0");
	assert_decoded("a\\04", "a\\04");
	assert_decoded("\\ 40\\4 0\\089", "\\ 40\\4 0\\089");
}

static void test_parent_of_a_mount_is_the_mount_of_its_mount_point(void **state)
{
	char file[] = "/tmp/mountinfo-XXXXXX";
	static const char text[] = "29 1 254:1 / / rw - ext4 /dev/a rw\n"
				   "345 29 0:50 / /a\\040b rw shared:1 - tmpfs 34 rw\n"
				   "34 345 0:51 / /a\\040b/c rw - fuse x rw\n";
	int fd = mkostemp(file, O_CLOEXEC);
	uint64_t parent;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	for (uint64_t mount = 34; mount != 1; mount = parent) {
		assert_int_equal(mountinfo_parent(file, mount, &parent), 0);
		assert_int_equal(parent, mount == 34 ? 345 : mount == 345 ? 29 : 1);
	}
	assert_int_equal(mountinfo_parent(file, 1, &parent), -ENOENT);
	(void)close(fd);
	(void)unlink(file);
	assert_int_equal(mountinfo_parent(file, 34, &parent), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_octal_escapes_are_decoded),
		cmocka_unit_test(test_invalid_escape_is_left_unchanged),
		cmocka_unit_test(test_parent_of_a_mount_is_the_mount_of_its_mount_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
