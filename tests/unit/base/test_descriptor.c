/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/descriptor.h"
#include "folder.h"
#include "unit_test.h"

/* A folder with names of several kinds, which all tests share and no test changes:
 *
 *   file  sub/file  link -> file  dirlink -> sub  fifo  up -> ..
 */
static char folder[64];
static int root = -1;

static int write_file_at(int directory, const char *name, const char *text)
{
	int fd AUTO_CLOSE = openat(directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	return fd < 0 ? -errno : write_fully(fd, text, strlen(text));
}

static int make_folder(void **state)
{
	(void)state;
	folder_make(folder, "/tmp");
	root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(root >= 0);
	assert_int_equal(mkdirat(root, "sub", 0755), 0);
	assert_int_equal(symlinkat("file", root, "link"), 0);
	assert_int_equal(symlinkat("sub", root, "dirlink"), 0);
	assert_int_equal(symlinkat("..", root, "up"), 0);
	assert_int_equal(mkfifoat(root, "fifo", 0600), 0);
	assert_int_equal(write_file_at(root, "file", "here"), 0);
	assert_int_equal(write_file_at(root, "sub/file", "below"), 0);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	close(root);
	folder_remove(folder);
	return 0;
}

/* Makes openat2 fail with ENOSYS in all later tests. */
static int disable_openat2(void **state)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};

	(void)state;
	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	(void)lacks(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0,
		    "seccomp; these tests are repeated with openat2 if the kernel has it");
	return 0;
}

static void assert_holds(int fd, const char *text)
{
	char got[16] = "";

	assert_true(fd >= 0);
	assert_int_equal(read_fully_at(fd, got, sizeof(got) - 1, 0), strlen(text));
	assert_string_equal(got, text);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}

static void test_files_are_opened_by_relative_path(void **state)
{
	struct stat here, there;
	int fd;

	(void)state;
	assert_holds(open_beneath(root, "file", O_RDONLY, false), "here");
	assert_holds(open_beneath_for_reading(root, "sub/file", 0, false), "below");
	fd = open_beneath(root, "", O_PATH | O_DIRECTORY, false);
	assert_int_equal(fstat(root, &here), 0);
	assert_int_equal(fstat(fd, &there), 0);
	assert_int_equal(here.st_ino, there.st_ino);
	close(fd);
	assert_int_equal(open_beneath(root, "none", O_RDONLY, false), -ENOENT);
	assert_int_equal(open_beneath(root, "none/file", O_RDONLY, false), -ENOENT);
	assert_int_equal(open_beneath(root, "file/file", O_RDONLY, false), -ENOTDIR);
	assert_int_equal(open_beneath_for_reading(root, "file", O_DIRECTORY, false), -ENOTDIR);
}

static void test_no_symlink_is_followed(void **state)
{
	char path[32];
	int proc;

	(void)state;
	assert_int_equal(open_beneath(root, "link", O_RDONLY, false), -ELOOP);
	assert_int_equal(open_beneath(root, "dirlink/file", O_RDONLY, false), -ELOOP);
	assert_int_equal(open_beneath(root, "sub/../link", O_RDONLY, false), -ELOOP);
	assert_int_equal(open_beneath(root, "dirlink", O_RDONLY | O_DIRECTORY, false), -ENOTDIR);
	assert_int_equal(open_beneath(root, "sub/../dirlink", O_PATH | O_DIRECTORY, false),
			 -ENOTDIR);
	assert_int_equal(open_beneath_for_reading(root, "up/etc", 0, true), -ELOOP);
	(void)snprintf(path, sizeof(path), "/proc/%d", (int)getpid());
	proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(open_beneath(proc, "fd/0", O_RDONLY, true), -ELOOP);
	assert_int_equal(open_beneath(proc, "root/etc", O_RDONLY, true), -ELOOP);
	close(proc);
}

static void test_symlink_itself_is_opened_as_a_path(void **state)
{
	int fd = open_beneath(root, "link", O_PATH, false);
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	close(fd);
}

static void test_fifo_does_not_block(void **state)
{
	int fd = open_beneath_for_reading(root, "fifo", 0, false);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
}

static void test_other_mounts_are_entered_only_on_request(void **state)
{
	int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	(void)state;
	assert_int_equal(open_beneath(top, "proc", O_RDONLY, false), -EXDEV);
	assert_int_equal(open_beneath(top, "proc/version", O_RDONLY, false), -EXDEV);
	fd = open_beneath(top, "proc/version", O_RDONLY, true);
	assert_true(fd >= 0);
	close(fd);
	close(top);
}

#define DEPTH 40

/* Opens from each directory of the path, so that the path is split at many places. */
static void test_path_longer_than_path_max_is_opened(void **state)
{
	char path[DEPTH * 240 + 8] = "";
	size_t starts[DEPTH + 1] = {0};
	int dirs[DEPTH + 1] = {root};

	(void)state;
	for (size_t i = 0; i < DEPTH; i++) {
		char *name = path + starts[i];

		memset(name, 'a', 200 + i);
		assert_true(mkdirat(dirs[i], name, 0755) == 0 || errno == EEXIST);
		dirs[i + 1] = openat(dirs[i], name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		assert_true(dirs[i + 1] >= 0);
		starts[i + 1] = starts[i] + 201 + i;
		path[starts[i + 1] - 1] = '/';
	}
	assert_true(starts[DEPTH] > (size_t)2 * PATH_MAX);
	assert_int_equal(write_file_at(dirs[DEPTH], "end", "deep"), 0);
	assert_true(symlinkat("end", dirs[DEPTH], "l") == 0 || errno == EEXIST);
	for (size_t i = 0; i <= DEPTH; i++) {
		memcpy(path + starts[DEPTH], "end", 4);
		assert_holds(open_beneath_for_reading(dirs[i], path + starts[i], 0, false), "deep");
		memcpy(path + starts[DEPTH], "l", 2);
		assert_int_equal(open_beneath(dirs[i], path + starts[i], O_RDONLY, false), -ELOOP);
		memcpy(path + starts[DEPTH], "n", 2);
		assert_int_equal(open_beneath(dirs[i], path + starts[i], O_RDONLY, false), -ENOENT);
	}
	for (size_t i = 1; i <= DEPTH; i++)
		close(dirs[i]);
}

static void test_name_that_is_too_long_is_refused(void **state)
{
	char path[3 * PATH_MAX];

	(void)state;
	memset(path, 'b', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(open_beneath(root, path, O_RDONLY, false), -ENAMETOOLONG);
	path[PATH_MAX + 5] = '/';
	assert_int_equal(open_beneath(root, path, O_RDONLY, false), -ENAMETOOLONG);
	path[PATH_MAX + 5] = '\0';
	path[3] = '/';
	assert_true(open_beneath(root, path, O_RDONLY, false) < 0);
}

static void test_file_of_another_user_is_read(void **state)
{
	int fd;

	(void)state;
	if (geteuid() != 0)
		return;
	assert_int_equal(fchmodat(AT_FDCWD, folder, 0755, 0), 0);
	assert_int_equal(seteuid(65534), 0);
	fd = open_beneath_for_reading(root, "sub/file", 0, false);
	assert_int_equal(seteuid(0), 0);
	assert_holds(fd, "below");
}

static void test_atime_is_not_touched(void **state)
{
	struct timespec old[2] = {{1000, 0}, {1000, 0}};
	struct stat st;

	(void)state;
	assert_int_equal(utimensat(root, "file", old, 0), 0);
	assert_holds(open_beneath_for_reading(root, "file", 0, false), "here");
	assert_int_equal(fstatat(root, "file", &st, 0), 0);
	assert_int_equal(st.st_atim.tv_sec, 1000);
}

static void test_reading_ends_with_the_file(void **state)
{
	int fd = open_beneath(root, "file", O_RDONLY, false);
	char block[8];

	(void)state;
	assert_int_equal(read_fully_at(fd, block, 2, 1), 2);
	assert_memory_equal(block, "er", 2);
	assert_int_equal(read_fully_at(fd, block, sizeof(block), 1), 3);
	assert_int_equal(read_fully_at(fd, block, sizeof(block), 4), 0);
	assert_int_equal(read_fully_at(fd, block, 0, 0), 0);
	assert_int_equal(read_fully_at(root, block, 1, 0), -EBADF);
	close(fd);
}

static void test_write_that_never_ends_fails(void **state)
{
	struct rlimit before, limit;
	char *data = calloc(1, 100000);
	int fd = openat(root, "limited", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	assert_non_null(data);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 50000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(write_fully(fd, data, 100000), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 50000);
	close(fd);
	free(data);
}

static void test_ascent_ends_at_the_root(void **state)
{
	int fd AUTO_CLOSE = openat(root, "sub", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat expected, found;

	(void)state;
	assert_int_equal(ascend(&fd), 1);
	assert_int_equal(fstat(root, &expected), 0);
	assert_int_equal(fstat(fd, &found), 0);
	assert_true(is_same_inode(&expected, &found));
	while (ascend(&fd) == 1) {
	}
	assert_int_equal(stat("/", &expected), 0);
	assert_int_equal(fstat(fd, &found), 0);
	assert_true(is_same_inode(&expected, &found));
	assert_int_equal(ascend(&fd), 0);
}

static void test_file_has_no_parent(void **state)
{
	int fd AUTO_CLOSE = openat(root, "file", O_PATH | O_CLOEXEC);

	(void)state;
	assert_int_equal(ascend(&fd), -ENOTDIR);
}

#define WITHOUT_OPENAT2(test)                                    \
	{                                                        \
#test "_without_openat2", test, NULL, NULL, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_are_opened_by_relative_path),
		cmocka_unit_test(test_no_symlink_is_followed),
		cmocka_unit_test(test_symlink_itself_is_opened_as_a_path),
		cmocka_unit_test(test_fifo_does_not_block),
		cmocka_unit_test(test_other_mounts_are_entered_only_on_request),
		cmocka_unit_test(test_path_longer_than_path_max_is_opened),
		cmocka_unit_test(test_name_that_is_too_long_is_refused),
		cmocka_unit_test(test_file_of_another_user_is_read),
		cmocka_unit_test(test_atime_is_not_touched),
		cmocka_unit_test(test_reading_ends_with_the_file),
		cmocka_unit_test(test_write_that_never_ends_fails),
		cmocka_unit_test(test_ascent_ends_at_the_root),
		cmocka_unit_test(test_file_has_no_parent),
		{"test_files_are_opened_by_relative_path_without_openat2",
		 test_files_are_opened_by_relative_path, disable_openat2, NULL, NULL},
		WITHOUT_OPENAT2(test_no_symlink_is_followed),
		WITHOUT_OPENAT2(test_symlink_itself_is_opened_as_a_path),
		WITHOUT_OPENAT2(test_fifo_does_not_block),
		WITHOUT_OPENAT2(test_other_mounts_are_entered_only_on_request),
		WITHOUT_OPENAT2(test_path_longer_than_path_max_is_opened),
		WITHOUT_OPENAT2(test_name_that_is_too_long_is_refused),
		WITHOUT_OPENAT2(test_file_of_another_user_is_read),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
