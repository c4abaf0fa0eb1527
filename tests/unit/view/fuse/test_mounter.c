/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/stop.h"
#include "unit_test.h"
#include "view/fuse/mount.h"
#include "view/fuse/mounter.h"

static struct mounter *started(void)
{
	const struct session_settings settings = {.mount_point = "/nowhere", .source = "twinfs"};
	struct mounter *mounter = NULL;

	assert_int_equal(mounter_start(&mounter, &settings), 0);
	return mounter;
}

/* Sends a signal to the mounter process and waits until the process has stopped (WSTOPPED) or ended
 * (WEXITED). */
static void signal_process(const struct mounter *mounter, int number, int what)
{
	siginfo_t info;

	assert_int_equal(kill(mounter_process(mounter), number), 0);
	assert_int_equal(waitid(P_PID, (id_t)mounter_process(mounter), &info, what | WNOWAIT), 0);
}

static bool has_child(void)
{
	return waitpid(-1, NULL, WNOHANG) >= 0;
}

static void test_killed_mounter_reports_no_unmount(void **state)
{
	struct mounter *mounter = started();

	(void)state;
	signal_process(mounter, SIGKILL, WEXITED);
	assert_true(mounter_unmount(mounter) < 0);
	mounter_free(mounter);
	assert_false(has_child());
}

static void test_stopped_mounter_is_not_waited_for_after_a_stop_request(void **state)
{
	struct mounter *mounter = started();

	(void)state;
	signal_process(mounter, SIGSTOP, WSTOPPED);
	stop_request();
	assert_int_equal(mounter_mount(mounter), -ECANCELED);
	mounter_free(mounter);
	assert_false(has_child());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed_mounter_reports_no_unmount),
		cmocka_unit_test(test_stopped_mounter_is_not_waited_for_after_a_stop_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
