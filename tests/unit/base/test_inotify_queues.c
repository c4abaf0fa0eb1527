/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/inotify_use.h"
#include "unit_test.h"

static void test_lines_of_fdinfo_are_parsed(void **state)
{
	const char *line = "inotify wd:3 ino:1000000000007 sdev:2e mask:fc6 ignored_mask:0 "
			   "fhandle-bytes:8 fhandle-type:1 f_handle:0102\n";
	const char *fuse = "inotify wd:2 ino:5 sdev:2e mask:fff ignored_mask:0 fhandle-bytes:c "
			   "fhandle-type:81 f_handle:000003100200000000000000\n";
	struct inotify_watch watch = {.inode = 0};

	(void)state;
	assert_true(inotify_watch_parse(line, makedev(0, 46), &watch));
	assert_true(watch.inode == UINT64_C(0x1000000000007) && watch.node == 0);
	assert_true(inotify_watch_parse(fuse, makedev(0, 46), &watch));
	assert_true(watch.inode == 5);
	if (htole32(1) == 1)
		assert_true(watch.node == UINT64_C(0x1003000000000002));
	assert_false(inotify_watch_parse(line, makedev(0, 47), &watch));
	assert_false(inotify_watch_parse(line, makedev(1, 46), &watch));
	assert_true(inotify_watch_parse("inotify wd:1 ino:2 sdev:fe00001 mask:1\n", makedev(254, 1),
					&watch));
	assert_false(inotify_watch_parse("inotify wd:1\n", makedev(0, 46), &watch));
	assert_false(inotify_watch_parse("pos:\t0\n", makedev(0, 46), &watch));
	assert_false(inotify_watch_parse("", makedev(0, 46), &watch));
}

static uint64_t unwanted;

static uint64_t number_of(const struct inotify_watch *watch)
{
	return watch->inode == unwanted ? 0 : watch->inode;
}

static size_t count_of(const struct inotify_watched *watched)
{
	return watched->numbers.length / sizeof(uint64_t);
}

static void test_own_watches_of_wanted_inodes_are_found(void **state)
{
	struct inotify_watched watched = {.number_of = number_of};
	struct stat status;
	int queue = inotify_init1(IN_CLOEXEC);

	(void)state;
	assert_true(queue >= 0);
	assert_int_equal(stat("/proc/self/fd", &status), 0);
	watched.device = status.st_dev;
	assert_int_equal(inotify_watched_by(getpid(), &watched), 0);
	assert_int_equal(count_of(&watched), 0);
	assert_true(inotify_add_watch(queue, "/proc/self/fd", IN_CREATE) >= 0);
	assert_int_equal(inotify_watched_by(getpid(), &watched), 0);
	assert_int_equal(count_of(&watched), 1);
	assert_memory_equal(watched.numbers.data, &status.st_ino, sizeof(uint64_t));
	assert_int_equal(inotify_watched_by_all(&watched), 0);
	assert_int_equal(count_of(&watched), 2);
	unwanted = status.st_ino;
	assert_int_equal(inotify_watched_by_all(&watched), 0);
	assert_int_equal(count_of(&watched), 2);
	bytes_free(&watched.numbers);
	assert_int_equal(close(queue), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_of_fdinfo_are_parsed),
		cmocka_unit_test(test_own_watches_of_wanted_inodes_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
