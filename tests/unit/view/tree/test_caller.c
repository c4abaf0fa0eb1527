/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"
#include "unit_test.h"
#include "view/tree/caller.h"

#define STATUS(groups)          \
	"Name:\tUid:\\nGid:\n"  \
	"Umask:\t0022\n"        \
	"Tgid:\t77\n"           \
	"Uid:\t1\t2\t3\t1000\n" \
	"Gid:\t4\t5\t6\t100\n"  \
	"FDSize:\t64\n"         \
	"Groups:\t" groups "\n" \
	"NStgid:\t77\n"

static const struct caller nobody = {.uid = 65534, .gid = 65534};

/* ---- groups and credentials ---------------------------------------------------------- */

static void test_groups_of_the_caller_are_read(void **state)
{
	struct caller caller CLEANUP_CALLER = {0};

	(void)state;
	assert_int_equal(caller_parse(&caller, STATUS("10 20 4294967294 "), 1000, 100), 0);
	assert_int_equal(caller.uid, 1000);
	assert_int_equal(caller.gid, 100);
	assert_int_equal(caller.count, 3);
	assert_int_equal(caller.groups[0], 10);
	assert_int_equal(caller.groups[1], 20);
	assert_true(caller.groups[2] == 4294967294U);
}

static void test_caller_without_supplementary_groups_has_none(void **state)
{
	struct caller caller CLEANUP_CALLER = {0};

	(void)state;
	assert_int_equal(caller_parse(&caller, STATUS(" "), 1000, 100), 0);
	assert_int_equal(caller.count, 0);
}

/* Each line has four ids; the last one, for access to file systems, counts. */
static void test_groups_of_another_user_are_refused(void **state)
{
	struct caller caller CLEANUP_CALLER = {0};

	(void)state;
	assert_int_equal(caller_parse(&caller, STATUS("10 "), 1001, 100), -EACCES);
	assert_int_equal(caller_parse(&caller, STATUS("10 "), 1000, 101), -EACCES);
	assert_int_equal(caller_parse(&caller, STATUS("10 "), 1, 4), -EACCES);
	assert_int_equal(caller.count, 0);
}

static void test_truncated_text_is_refused(void **state)
{
	static const char whole[] = STATUS("10 20 ");
	const char *end = strstr(whole, "NStgid");
	char text[sizeof(whole)];

	(void)state;
	for (size_t length = 0; length < (size_t)(end - whole); length++) {
		struct caller caller CLEANUP_CALLER = {0};

		memcpy(text, whole, length);
		text[length] = '\0';
		assert_int_equal(caller_parse(&caller, text, 1000, 100), -EACCES);
	}
}

static void test_groups_of_this_thread_are_found(void **state)
{
	struct caller caller CLEANUP_CALLER = {0};
	gid_t groups[256];
	int count = getgroups(256, groups);

	(void)state;
	assert_true(count >= 0);
	assert_int_equal(caller_read(&caller, gettid(), geteuid(), getegid()), 0);
	assert_int_equal(caller.count, count);
	assert_memory_equal(caller.groups, groups, (size_t)count * sizeof(*groups));
}

static void test_thread_that_ended_is_unknown(void **state)
{
	struct caller caller CLEANUP_CALLER = {0};

	(void)state;
	assert_int_equal(caller_read(&caller, INT32_MAX, geteuid(), getegid()), -EACCES);
}

static void test_thread_that_is_hidden_is_unknown(void **state)
{
	struct caller caller CLEANUP_CALLER = {0};

	(void)state;
	assert_int_equal(caller_read(&caller, 0, geteuid(), getegid()), -EACCES);
}

static void test_digests_of_different_callers_differ(void **state)
{
	gid_t groups[] = {1, 2};
	const struct caller callers[] = {
		{.uid = 1, .gid = 2},
		{.uid = 2, .gid = 1},
		{.uid = 1, .gid = 2, .groups = groups, .count = 1},
		{.uid = 1, .gid = 2, .groups = groups, .count = 2},
		{.uid = 1, .gid = 2, .groups = groups + 1, .count = 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(callers); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(callers); j++)
			assert_int_equal(caller_digest(&callers[i]) == caller_digest(&callers[j]),
					 i == j);
	}
}

/* ---- impersonation ------------------------------------------------------------------- */

static int open_it(const struct folder *folder)
{
	int fd = openat(folder->fd, "file", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	(void)close(fd);
	return 0;
}

static void test_thread_has_the_permissions_of_the_caller_only(void **state)
{
	gid_t group = 4321;
	const struct caller member = {.uid = 1234, .gid = 1234, .groups = &group, .count = 1};
	struct folder *folder = *state;

	if (lacks_root())
		return;
	make_file(folder->fd, "file", "x", 1);
	assert_int_equal(fchownat(folder->fd, "file", 0, 4321, 0), 0);
	assert_int_equal(fchmodat(folder->fd, "file", 0640, 0), 0);
	assert_int_equal(fchmod(folder->fd, 0755), 0);
	assert_int_equal(caller_impersonate(&nobody), 0);
	assert_int_equal(open_it(folder), -EACCES);
	caller_revert();
	assert_int_equal(open_it(folder), 0);
	assert_int_equal(caller_impersonate(&member), 0);
	assert_int_equal(open_it(folder), 0);
	caller_revert();
	assert_int_equal(caller_impersonate(&nobody), 0);
	assert_int_equal(open_it(folder), -EACCES);
	caller_revert();
}

/* A thread that reports its user id on request. */
struct other {
	int requests[2]; /* a pipe */
	uid_t uid;
};

static void *report_user_id(void *context)
{
	struct other *other = context;
	char byte;

	if (read(other->requests[0], &byte, 1) == 1)
		other->uid = (uid_t)syscall(SYS_setfsuid, -1);
	return NULL;
}

static void test_other_threads_keep_their_credentials(void **state)
{
	struct other other = {.uid = 77};
	pthread_t thread;

	(void)state;
	if (lacks_root())
		return;
	assert_int_equal(pipe2(other.requests, O_CLOEXEC), 0);
	/* created first, as a new thread inherits the credentials of its creator */
	assert_int_equal(pthread_create(&thread, NULL, report_user_id, &other), 0);
	assert_int_equal(caller_impersonate(&nobody), 0);
	assert_int_equal(syscall(SYS_setfsuid, -1), 65534);
	assert_int_equal(write(other.requests[1], "?", 1), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	caller_revert();
	assert_int_equal(other.uid, 0);
	(void)close(other.requests[0]);
	(void)close(other.requests[1]);
}

#define NO_NAMESPACE 101

/* Returns how many scheduling settings of the thread a process of that user can change. The process
 * tries in a new user namespace, where it has all capabilities. The kernel requires at least the
 * permitted capabilities of the thread. */
static int change_scheduling_as(uid_t uid, pid_t thread)
{
	const struct sched_param none = {0};
	cpu_set_t first;
	int done = 0;

	if (syscall(SYS_setresuid, uid, uid, uid) != 0)
		return 100;
	if (unshare(CLONE_NEWUSER) != 0)
		return NO_NAMESPACE;
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	done += setpriority(PRIO_PROCESS, (id_t)thread, 19) == 0;
	done += sched_setscheduler(thread, SCHED_IDLE, &none) == 0;
	done += sched_setaffinity(thread, sizeof(first), &first) == 0;
	return done;
}

static void test_caller_cannot_change_how_the_thread_is_scheduled(void **state)
{
	pid_t thread = (pid_t)syscall(SYS_gettid), child;
	int asked[2], status = 0;
	char byte = '?';

	(void)state;
	if (lacks_root())
		return;
	assert_int_equal(pipe2(asked, O_CLOEXEC), 0);
	child = fork();
	if (child == 0)
		_exit(read(asked[0], &byte, 1) == 1 ? change_scheduling_as(nobody.uid, thread)
						    : 100);
	assert_true(child > 0);
	assert_int_equal(caller_impersonate(&nobody), 0);
	assert_int_equal(write(asked[1], &byte, 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	caller_revert();
	(void)close(asked[0]);
	(void)close(asked[1]);
	assert_true(WIFEXITED(status));
	if (lacks(WEXITSTATUS(status) == NO_NAMESPACE, "the right to make a user namespace"))
		return;
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_root_without_capabilities_has_the_permissions_of_the_mode(void **state)
{
	const struct caller weak = {.uid = 0, .gid = 0};
	struct folder *folder = *state;

	if (lacks_root())
		return;
	make_file(folder->fd, "file", "x", 1);
	assert_int_equal(fchownat(folder->fd, "file", 1234, 1234, 0), 0);
	assert_int_equal(fchmodat(folder->fd, "file", 0600, 0), 0);
	assert_int_equal(caller_impersonate(&weak), 0);
	assert_int_equal(open_it(folder), -EACCES);
	caller_revert();
	assert_int_equal(open_it(folder), 0);
}

static void test_unknown_caller_cannot_be_impersonated(void **state)
{
	const struct caller unknown = {.uid = (uid_t)-1, .gid = 5};
	const struct caller groupless = {.uid = 5, .gid = (gid_t)-1};

	(void)state;
	assert_int_equal(caller_impersonate(&unknown), -EACCES);
	assert_int_equal(caller_impersonate(&groupless), -EACCES);
}

static void test_only_root_can_impersonate(void **state)
{
	(void)state;
	assert_int_equal(caller_try_impersonation(), geteuid() == 0 ? 0 : -EPERM);
	if (geteuid() != 0)
		return;
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(caller_try_impersonation(), -EPERM);
	assert_int_equal(seteuid(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups_of_the_caller_are_read),
		cmocka_unit_test(test_caller_without_supplementary_groups_has_none),
		cmocka_unit_test(test_groups_of_another_user_are_refused),
		cmocka_unit_test(test_truncated_text_is_refused),
		cmocka_unit_test(test_groups_of_this_thread_are_found),
		cmocka_unit_test(test_thread_that_ended_is_unknown),
		cmocka_unit_test(test_thread_that_is_hidden_is_unknown),
		cmocka_unit_test(test_digests_of_different_callers_differ),
		TEST_IN_FOLDER(test_thread_has_the_permissions_of_the_caller_only),
		cmocka_unit_test(test_other_threads_keep_their_credentials),
		cmocka_unit_test(test_caller_cannot_change_how_the_thread_is_scheduled),
		TEST_IN_FOLDER(test_root_without_capabilities_has_the_permissions_of_the_mode),
		cmocka_unit_test(test_unknown_caller_cannot_be_impersonated),
		cmocka_unit_test(test_only_root_can_impersonate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
