/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/filesystem.h"
#include "unit_test.h"

/* statfs(2) and the sources of Linux have the numbers. */
static const uint32_t remote[] = {
	0x00006969, /* NFS */
	0xff534d42, /* CIFS, SMB 1 */
	0xfe534d42, /* SMB 2 and 3 */
	0x0000517b, /* smbfs */
	0x01021997, /* 9p */
	0x65735546, /* FUSE */
	0x00c36400, /* Ceph */
	0x5346414f, /* AFS */
	0x73757245, /* Coda */
	0x01161970, /* GFS2 */
	0x7461636f, /* OCFS2 */
	0x786f4256, /* folders of VirtualBox */
};

static const uint32_t fine[] = {
	0x0000ef53, /* ext2, ext3, ext4 */
	0x58465342, /* XFS */
	0x9123683e, /* Btrfs */
	0xf2f52010, /* F2FS */
	0xca451a4e, /* bcachefs */
	0x2fc12fc1, /* ZFS */
	0x01021994, /* tmpfs */
	0x858458f6, /* ramfs */
	0x794c7630, /* overlayfs */
	0x73717368, /* squashfs */
	0xe0f5e1e2, /* EROFS */
	0x00009660, /* ISO 9660 */
};

static const uint32_t others[] = {
	0x00004d44, /* FAT: two seconds */
	0x2011bab0, /* exFAT */
	0x7366746e, /* NTFS */
	0x0000482b, /* HFS+: a second */
	0x0000137f, /* Minix: a second */
	0x52654973, /* ReiserFS: a second */
	0,          0xffffffff,
};

static void assert_kind(const uint32_t *types, size_t count, enum filesystem_kind kind)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(filesystem_kind_of(types[i]), kind);
}

static void test_file_systems_of_other_hosts_and_of_programs_are_remote(void **state)
{
	(void)state;
	assert_kind(remote, ARRAY_SIZE(remote), FILESYSTEM_REMOTE);
}

static void test_local_file_systems_with_fine_times_are_known(void **state)
{
	(void)state;
	assert_kind(fine, ARRAY_SIZE(fine), FILESYSTEM_FINE);
}

static void test_every_other_file_system_is_unknown(void **state)
{
	(void)state;
	assert_kind(others, ARRAY_SIZE(others), FILESYSTEM_UNKNOWN);
}

static void test_path_on_no_known_file_system_is_unknown_and_not_remote(void **state)
{
	int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(filesystem_kind_at(fd), FILESYSTEM_UNKNOWN);
	assert_false(is_remote_filesystem(fd));
	(void)close(fd);
	assert_int_equal(filesystem_kind_at(-1), FILESYSTEM_UNKNOWN);
}

static void test_leases_are_reliable_where_all_writers_are_local(void **state)
{
	const dev_t disk = makedev(8, 1), none = makedev(0, 40);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fine); i++)
		assert_true(filesystem_leases_are_reliable(fine[i], none));
	for (size_t i = 0; i < ARRAY_SIZE(remote); i++)
		assert_false(filesystem_leases_are_reliable(remote[i], none));
	assert_true(
		filesystem_leases_are_reliable(0x65735546, disk)); /* FUSE, which NTFS-3G uses */
	assert_false(filesystem_leases_are_reliable(0x7461636f,
						    disk)); /* OCFS2: a disk of several hosts */
}

static void test_file_systems_of_other_hosts_are_not_of_this_host(void **state)
{
	static const uint32_t served[] = {0x7461636f, 0x01161970}; /* OCFS2, GFS2 */
	const dev_t disk = makedev(8, 1), none = makedev(0, 40);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(remote); i++)
		assert_false(filesystem_type_is_of_this_host(remote[i], none));
	for (size_t i = 0; i < ARRAY_SIZE(served); i++)
		assert_false(filesystem_type_is_of_this_host(served[i], disk));
	assert_false(filesystem_type_is_of_this_host(0x0bd00bd0, none)); /* Lustre, as unknown */
	assert_false(filesystem_type_is_of_this_host(0, none));
	assert_false(filesystem_is_of_this_host(-1));
}

static void test_file_systems_on_a_disk_or_of_local_types_are_of_this_host(void **state)
{
	static const uint32_t local[] = {
		0x9123683e, /* Btrfs */
		0xca451a4e, /* bcachefs */
		0x2fc12fc1, /* ZFS */
		0x01021994, /* tmpfs */
		0x794c7630, /* overlayfs */
	};
	static const uint32_t on_disks[] = {
		0x0000ef53, /* ext2, ext3, ext4 */
		0x00004d44, /* FAT */
		0x65735546, /* FUSE, which NTFS-3G uses */
		0xffffffff, /* unknown */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		assert_true(filesystem_type_is_of_this_host(local[i], makedev(0, 40)));
	for (size_t i = 0; i < ARRAY_SIZE(on_disks); i++)
		assert_true(filesystem_type_is_of_this_host(on_disks[i], makedev(8, 1)));
}

static void test_only_overlays_have_layers(void **state)
{
	(void)state;
	assert_true(filesystem_has(0x794c7630, TRAIT_LAYERED)); /* overlayfs */
	assert_true(filesystem_has(0x61756673, TRAIT_LAYERED)); /* aufs */
	assert_false(filesystem_has(0x0000ef53, TRAIT_LAYERED)); /* ext2, ext3, ext4 */
	assert_false(filesystem_has(0xffffffff, TRAIT_LAYERED));
}

static void test_times_are_reliable_on_known_file_systems_only(void **state)
{
	static const uint32_t telling[] = {
		0x0000ef53, /* ext2, ext3, ext4 */
		0x58465342, /* XFS */
		0x9123683e, /* Btrfs */
		0xf2f52010, /* F2FS */
		0x73717368, /* squashfs, which is read-only */
	};
	static const uint32_t silent[] = {
		0x01021994, /* tmpfs */
		0x858458f6, /* ramfs */
		0x794c7630, /* overlayfs */
		0x2fc12fc1, /* ZFS */
		0x00004d44, /* FAT */
		0xffffffff,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(telling); i++)
		assert_true(filesystem_keeps(telling[i], PROMISE_STORES));
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		assert_false(filesystem_keeps(silent[i], PROMISE_STORES));
	for (size_t i = 0; i < ARRAY_SIZE(remote); i++)
		assert_false(filesystem_keeps(remote[i], PROMISE_STORES));
	assert_false(filesystem_keeps(filesystem_type_at(-1), PROMISE_STORES));
}

static void test_only_memory_and_layers_never_report_stores(void **state)
{
	static const uint32_t hiding[] = {
		0x01021994, /* tmpfs */
		0x858458f6, /* ramfs */
		0x958458f6, /* hugetlbfs */
		0x794c7630, /* overlayfs */
		0x61756673, /* aufs */
	};
	static const uint32_t telling[] = {0x0000ef53, 0x9123683e, 0x2fc12fc1, 0x00004d44, 0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hiding); i++)
		assert_true(filesystem_may_hide_stores(hiding[i]));
	for (size_t i = 0; i < ARRAY_SIZE(telling); i++)
		assert_false(filesystem_may_hide_stores(telling[i]));
	for (size_t i = 0; i < ARRAY_SIZE(remote); i++)
		assert_false(filesystem_may_hide_stores(remote[i]));
}

static void assert_row_is_consistent(uint32_t type)
{
	const struct filesystem_facts *facts = filesystem_facts_of(type, NULL);

	assert_int_equal(facts->keeps & facts->lacks, 0);
	assert_ptr_equal(filesystem_facts_of(type, "no such name"), facts);
	assert_ptr_equal(filesystem_facts_of(type, facts->name), facts);
}

static void test_no_promise_is_kept_and_lacked(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(remote); i++)
		assert_row_is_consistent(remote[i]);
	for (size_t i = 0; i < ARRAY_SIZE(fine); i++)
		assert_row_is_consistent(fine[i]);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_row_is_consistent(others[i]);
}

static void test_name_of_the_mount_decides_between_rows_of_a_type(void **state)
{
	const struct filesystem_facts *any = filesystem_facts_of(0x65735546, "fuse.other");
	const struct filesystem_facts *sshfs = filesystem_facts_of(0x65735546, "fuse.sshfs");

	(void)state;
	assert_string_equal(any->name, "fuse");
	assert_int_equal((any->keeps | any->lacks) & PROMISE_CTIME, 0);
	assert_true(sshfs->lacks & PROMISE_CTIME);
}

static void test_type_that_the_table_lacks_promises_nothing(void **state)
{
	const struct filesystem_facts *facts = filesystem_facts_of(0xffffffff, NULL);

	(void)state;
	assert_false(filesystem_facts_are_known(facts));
	assert_int_equal(facts->keeps | facts->lacks | facts->traits, 0);
	assert_true(filesystem_facts_are_known(filesystem_facts_of(0xef53, NULL)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_systems_of_other_hosts_and_of_programs_are_remote),
		cmocka_unit_test(test_local_file_systems_with_fine_times_are_known),
		cmocka_unit_test(test_every_other_file_system_is_unknown),
		cmocka_unit_test(test_path_on_no_known_file_system_is_unknown_and_not_remote),
		cmocka_unit_test(test_leases_are_reliable_where_all_writers_are_local),
		cmocka_unit_test(test_file_systems_of_other_hosts_are_not_of_this_host),
		cmocka_unit_test(test_file_systems_on_a_disk_or_of_local_types_are_of_this_host),
		cmocka_unit_test(test_only_overlays_have_layers),
		cmocka_unit_test(test_times_are_reliable_on_known_file_systems_only),
		cmocka_unit_test(test_only_memory_and_layers_never_report_stores),
		cmocka_unit_test(test_no_promise_is_kept_and_lacked),
		cmocka_unit_test(test_name_of_the_mount_decides_between_rows_of_a_type),
		cmocka_unit_test(test_type_that_the_table_lacks_promises_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
