/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/msdos_fs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/confine.h"
#include "folder.h"
#include "unit_test.h"

/* Exit status of a child that confined itself. */
enum {
	AS_EXPECTED = 0,
	NOT_SUPPORTED = 77,
};

/* Runs in a child, as confinement cannot be undone. */
static int run_child(int (*part)(const char *folder), const char *folder)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(part(folder));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void expect(int (*part)(const char *folder), void **state)
{
	const struct folder *folder = *state;
	int status = run_child(part, folder->path);

	if (!lacks(status == NOT_SUPPORTED, "a kernel that confines in this way"))
		assert_int_equal(status, AS_EXPECTED);
}

/* Ends the child; the exit status is the line of the check that failed. */
#define CHECK(claim)                              \
	do {                                      \
		if (!(claim)) {                   \
			perror(#claim);           \
			_exit(1 + __LINE__ % 64); \
		}                                 \
	} while (0)

/* Whether a call failed with one of these errors. */
static bool refused(long result)
{
	return result < 0 && (errno == EACCES || errno == EPERM || errno == EXDEV);
}

static bool can_open(const char *path, int flags)
{
	int fd AUTO_CLOSE = open(path, flags | O_CLOEXEC, 0600);

	return fd >= 0;
}

static void begin(int result)
{
	if (result == -ENOSYS || result == -EOPNOTSUPP)
		_exit(NOT_SUPPORTED);
	CHECK(result == 0);
}

static void make_tree(const char *folder)
{
	CHECK(chdir(folder) == 0);
	CHECK(mkdir("mine", 0700) == 0 && mkdir("theirs", 0700) == 0);
	CHECK(can_open("mine/file", O_WRONLY | O_CREAT));
	CHECK(can_open("theirs/file", O_WRONLY | O_CREAT));
	CHECK(confine_no_new_privileges() == 0);
}

static int write_elsewhere(const char *folder)
{
	make_tree(folder);
	begin(confine_writing("mine"));
	CHECK(can_open("theirs/file", O_RDONLY) && can_open("theirs", O_RDONLY | O_DIRECTORY));
	CHECK(!can_open("theirs/file", O_WRONLY) && refused(-1));
	CHECK(!can_open("theirs/new", O_WRONLY | O_CREAT) && refused(-1));
	CHECK(refused(unlink("theirs/file")));
	CHECK(refused(rename("theirs/file", "mine/moved")));
	CHECK(refused(rename("mine/file", "theirs/file")));
	CHECK(refused(link("mine/file", "theirs/link")));
	CHECK(refused(mkdir("theirs/folder", 0700)));
	CHECK(refused(symlink("file", "theirs/symlink")));
	return AS_EXPECTED;
}

static void test_writing_outside_of_the_folder_is_refused(void **state)
{
	expect(write_elsewhere, state);
}

static int write_in_folder(const char *folder)
{
	make_tree(folder);
	begin(confine_writing("mine"));
	CHECK(can_open("mine/file", O_WRONLY | O_TRUNC));
	CHECK(can_open("mine/new", O_RDWR | O_CREAT));
	CHECK(mkdir("mine/folder", 0700) == 0);
	CHECK(rename("mine/new", "mine/folder/moved") == 0);
	CHECK(unlink("mine/folder/moved") == 0 && rmdir("mine/folder") == 0);
	CHECK(can_open("/dev/null", O_RDWR));
	return AS_EXPECTED;
}

static void test_writing_in_the_folder_is_allowed(void **state)
{
	expect(write_in_folder, state);
}

static int run_program(const char *folder)
{
	char program[] = "true", *const words[] = {program, NULL};

	make_tree(folder);
	begin(confine_writing("mine"));
	CHECK(refused(execv("/bin/true", words)));
	return AS_EXPECTED;
}

static void test_programs_are_refused(void **state)
{
	expect(run_program, state);
}

static int change_attributes(const char *folder)
{
	const struct timespec times[2] = {{0}};
	int flags = 0, file;

	make_tree(folder);
	file = open("mine/file", O_RDONLY | O_CLOEXEC);
	CHECK(file >= 0);
	begin(confine_calls(0));
	CHECK(refused(chmod("mine/file", 0777)) && refused(fchmod(file, 0777)));
	CHECK(refused(chown("mine/file", 1, 1)) && refused(fchown(file, 1, 1)));
	CHECK(refused(utimensat(AT_FDCWD, "mine/file", times, 0)));
	CHECK(refused(futimens(file, times)));
	CHECK(refused(setxattr("mine/file", "user.new", "x", 1, 0)));
	CHECK(refused(fremovexattr(file, "user.new")));
	CHECK(refused(ioctl(file, FS_IOC_SETFLAGS, &flags)));
	/* tmpfs does not support these flags */
	CHECK(ioctl(file, FS_IOC_GETFLAGS, &flags) == 0 || !refused(-1));
	CHECK(can_open("theirs/file", O_WRONLY));
	return AS_EXPECTED;
}

static int identify_filesystem(const char *folder)
{
	uint32_t volume;
	int file;

	make_tree(folder);
	file = open("mine/file", O_RDONLY | O_CLOEXEC);
	CHECK(file >= 0);
	begin(confine_calls(0));
	/* the file system of the test has no volume id */
	CHECK(ioctl(file, FAT_IOCTL_GET_VOLUME_ID, &volume) == 0 || !refused(-1));
	return AS_EXPECTED;
}

static void test_volume_id_of_fat_can_be_read(void **state)
{
	expect(identify_filesystem, state);
}

static void test_attributes_are_not_changed(void **state)
{
	expect(change_attributes, state);
}

/* Landlock alone refuses these calls; a filter would refuse them as well. */
static int reach_outside(const char *folder)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "\0twinfs-test-confine"};
	int outside = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int kept = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int late = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const struct sockaddr *to = (const struct sockaddr *)&address;

	make_tree(folder);
	if (confine_landlock_version() < 6)
		return NOT_SUPPORTED;
	CHECK(bind(outside, to, sizeof(address)) == 0);
	CHECK(connect(kept, to, sizeof(address)) == 0);
	begin(confine_writing("mine"));
	CHECK(refused(kill(getppid(), 0)) && kill(getpid(), 0) == 0);
	CHECK(refused(connect(late, to, sizeof(address))));
	CHECK(send(kept, "x", 1, 0) == 1);
	return AS_EXPECTED;
}

static void test_signals_and_abstract_sockets_outside_are_refused(void **state)
{
	expect(reach_outside, state);
}

static int make_special_files(const char *folder)
{
	make_tree(folder);
	begin(confine_writing("mine"));
	CHECK(refused(mkfifo("mine/fifo", 0600)));
	CHECK(refused(symlink("file", "mine/symlink")));
	CHECK(refused(mknod("mine/socket", S_IFSOCK | 0600, 0)));
	return AS_EXPECTED;
}

static void test_special_files_in_the_folder_are_refused(void **state)
{
	expect(make_special_files, state);
}

static void *end_at_once(void *context)
{
	return context;
}

static int start_something(const char *folder)
{
	const int page = 4096, anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
	pthread_t thread;
	void *memory;

	(void)folder;
	CHECK(confine_no_new_privileges() == 0);
	begin(confine_calls(0));
	CHECK(pthread_create(&thread, NULL, end_at_once, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(refused(fork()) && refused(unshare(CLONE_NEWUSER)));
	CHECK(refused(seteuid(geteuid())) && refused(setgroups(0, NULL)));
	CHECK(refused(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
	memory = mmap(NULL, page, PROT_READ | PROT_WRITE, anonymous, -1, 0);
	CHECK(memory != MAP_FAILED);
	CHECK(refused(mprotect(memory, page, PROT_READ | PROT_EXEC)));
	CHECK(mmap(NULL, page, PROT_EXEC, anonymous, -1, 0) == MAP_FAILED && refused(-1));
	return AS_EXPECTED;
}

static void test_threads_can_start_but_no_process_and_no_new_code(void **state)
{
	expect(start_something, state);
}

static int change_user(const char *folder)
{
	const uid_t other = 1, same = (uid_t)-1;

	(void)folder;
	CHECK(confine_no_new_privileges() == 0);
	begin(confine_calls(CONFINE_WITH_CALLERS));
	CHECK(refused(setresuid(other, other, 0)) && refused(setuid(other)));
	CHECK(setresuid(same, other, same) == 0 && geteuid() == other);
	CHECK(setresuid(same, 0, same) == 0 && setgroups(0, NULL) == 0);
	return AS_EXPECTED;
}

static void test_effective_user_can_change_only_if_needed(void **state)
{
	if (!lacks_root())
		expect(change_user, state);
}

static int compute(const char *folder)
{
	char program[] = "true", *const words[] = {program, NULL}, byte;
	struct stat status;
	int file, ends[2];

	make_tree(folder);
	file = open("mine/file", O_RDWR | O_CLOEXEC);
	CHECK(file >= 0 && pipe2(ends, O_CLOEXEC) == 0);
	begin(confine_to_computing());
	CHECK(!can_open("mine/file", O_RDONLY) && refused(-1));
	CHECK(!can_open("/dev/tty", O_RDONLY) && refused(-1));
	CHECK(refused(unlink("mine/file")) && refused(ftruncate(file, 0)));
	CHECK(refused(stat("mine/file", &status)));
	CHECK(refused(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)));
	CHECK(refused(kill(getppid(), 0)));
	CHECK(refused(fork()) && refused(execv("/bin/true", words)));
	CHECK(refused(ioctl(ends[0], FIONREAD, &file)));
	CHECK(write(ends[1], "x", 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == 'x');
	CHECK(calloc(1, 10 << 20) != NULL && close(ends[0]) == 0);
	return AS_EXPECTED;
}

static void test_computing_process_cannot_open_start_or_send_anything(void **state)
{
	expect(compute, state);
}

static int drop_all_capabilities(const char *folder)
{
	struct bytes names CLEANUP_BYTES = {0};

	(void)folder;
	CHECK(confine_capabilities(0) == 0);
	CHECK(confine_name_capabilities(&names) == 0);
	CHECK(strcmp(bytes_text(&names), "none") == 0);
	CHECK(geteuid() != 0 || prctl(PR_CAPBSET_READ, CAP_CHOWN, 0, 0, 0) == 0);
	return AS_EXPECTED;
}

static void test_capabilities_are_dropped(void **state)
{
	expect(drop_all_capabilities, state);
}

static int keep_some_capabilities(const char *folder)
{
	struct bytes names CLEANUP_BYTES = {0};

	(void)folder;
	CHECK(confine_capabilities(CAPABILITY(CAP_LEASE) | CAPABILITY(CAP_SYSLOG)) == 0);
	CHECK(confine_name_capabilities(&names) == 0);
	CHECK(strcmp(bytes_text(&names), "lease,34") == 0);
	return AS_EXPECTED;
}

static void test_capabilities_that_are_kept_are_named(void **state)
{
	if (!lacks_root())
		expect(keep_some_capabilities, state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_writing_outside_of_the_folder_is_refused),
		TEST_IN_FOLDER(test_writing_in_the_folder_is_allowed),
		TEST_IN_FOLDER(test_programs_are_refused),
		TEST_IN_FOLDER(test_attributes_are_not_changed),
		TEST_IN_FOLDER(test_volume_id_of_fat_can_be_read),
		TEST_IN_FOLDER(test_signals_and_abstract_sockets_outside_are_refused),
		TEST_IN_FOLDER(test_special_files_in_the_folder_are_refused),
		TEST_IN_FOLDER(test_threads_can_start_but_no_process_and_no_new_code),
		TEST_IN_FOLDER(test_effective_user_can_change_only_if_needed),
		TEST_IN_FOLDER(test_computing_process_cannot_open_start_or_send_anything),
		TEST_IN_FOLDER(test_capabilities_are_dropped),
		TEST_IN_FOLDER(test_capabilities_that_are_kept_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
