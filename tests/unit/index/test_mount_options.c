/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/attributes.h"
#include "index/mount_point.h"
#include "unit_test.h"

static void assert_kind(const char *item, enum mount_option_kind expected)
{
	const char *reason;

	assert_int_equal(mount_option_classify(item, &reason), expected);
	assert_int_equal(reason != NULL, expected == MOUNT_OPTION_REFUSED);
}

static void test_words_of_fstab_are_ignored(void **state)
{
	static const char *const words[] = {
		"defaults",
		"user",
		"users",
		"user=joe",
		"noauto",
		"nofail",
		"_netdev",
		"x-systemd.automount",
		"x-gvfs-show",
		"X-mount.mkdir",
		"comment=a,b",
		"x-systemd.requires=/usr",
		"rw",
		"ro",
		"suid",
		"nosuid",
		"dev",
		"nodev",
		"exec",
		"relatime",
		"default_permissions",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		assert_kind(words[i], MOUNT_OPTION_IGNORED);
}

static void test_options_of_libfuse_are_passed_on(void **state)
{
	(void)state;
	assert_kind("noexec", MOUNT_OPTION_FUSE);
	assert_kind("max_read=65536", MOUNT_OPTION_FUSE);
	assert_kind("context=system_u:object_r:t:s0", MOUNT_OPTION_FUSE);
}

static void test_nonempty_belongs_to_the_mount_point(void **state)
{
	(void)state;
	assert_kind("nonempty", MOUNT_OPTION_NONEMPTY);
}

static void test_options_for_speed_belong_to_the_session(void **state)
{
	(void)state;
	assert_kind("passthrough", MOUNT_OPTION_PASSTHROUGH);
	assert_kind("trusted_xattrs", MOUNT_OPTION_TRUSTED_XATTRS);
	assert_kind("io_uring", MOUNT_OPTION_IO_URING);
}

static void test_allow_other_and_auto_unmount_belong_to_the_session(void **state)
{
	(void)state;
	assert_kind("allow_other", MOUNT_OPTION_SHARED);
	assert_kind("auto_unmount", MOUNT_OPTION_AUTO_UNMOUNT);
}

static void test_options_that_break_a_guarantee_are_refused(void **state)
{
	(void)state;
	assert_kind("allow_root", MOUNT_OPTION_REFUSED);
	assert_kind("subtype=other", MOUNT_OPTION_REFUSED);
	assert_kind("remount", MOUNT_OPTION_REFUSED);
}

static void test_size_that_the_kernel_refuses_is_refused(void **state)
{
	(void)state;
	assert_kind("max_read=999999999", MOUNT_OPTION_FUSE);
	assert_kind("max_read=", MOUNT_OPTION_REFUSED);
	assert_kind("max_read=-5", MOUNT_OPTION_REFUSED);
	assert_kind("max_read=64k", MOUNT_OPTION_REFUSED);
	assert_kind("max_read=4294967296", MOUNT_OPTION_REFUSED);
}

static void test_other_words_are_unknown(void **state)
{
	(void)state;
	assert_kind("", MOUNT_OPTION_UNKNOWN);
	assert_kind("x", MOUNT_OPTION_UNKNOWN);
	assert_kind("allow_others", MOUNT_OPTION_UNKNOWN);
	assert_kind("rootmode=40000", MOUNT_OPTION_UNKNOWN);
	assert_kind("fd=3", MOUNT_OPTION_UNKNOWN);
	assert_kind("noexec=1", MOUNT_OPTION_UNKNOWN);
	assert_kind("context", MOUNT_OPTION_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_of_fstab_are_ignored),
		cmocka_unit_test(test_options_of_libfuse_are_passed_on),
		cmocka_unit_test(test_nonempty_belongs_to_the_mount_point),
		cmocka_unit_test(test_options_for_speed_belong_to_the_session),
		cmocka_unit_test(test_allow_other_and_auto_unmount_belong_to_the_session),
		cmocka_unit_test(test_options_that_break_a_guarantee_are_refused),
		cmocka_unit_test(test_size_that_the_kernel_refuses_is_refused),
		cmocka_unit_test(test_other_words_are_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
