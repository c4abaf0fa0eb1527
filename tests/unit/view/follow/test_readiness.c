/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/stop.h"
#include "unit_test.h"
#include "view/follow/service.h"

/* Forks. The child calls part and exits with status. Returns the status that the parent
 * receives. */
static enum twinfs_exit run_child(void (*part)(struct readiness *), int status)
{
	struct readiness readiness;

	readiness_init(&readiness, 1);
	assert_int_equal(readiness_fork(&readiness), 0);
	if (readiness.child == 0) {
		if (part != NULL)
			part(&readiness);
		_exit(status);
	}
	return readiness_wait(&readiness);
}

static void report_incomplete(struct readiness *readiness)
{
	readiness_report(readiness, TWINFS_EXIT_INCOMPLETE);
}

static void report_when_detached(struct readiness *readiness)
{
	char target[64] = "";

	(void)signal(SIGPIPE, SIG_IGN);
	readiness_report(readiness, TWINFS_EXIT_COMPLETE);
	/* the test runner examines this exit status, which readiness_wait() no longer waits for */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		char link[32];

		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		if (readlink(link, target, sizeof(target) - 1) < 0 ||
		    strcmp(target, "/dev/null") != 0)
			_exit(1);
	}
}

static void kill_itself(struct readiness *readiness)
{
	(void)readiness;
	(void)raise(SIGKILL);
}

/* Sends SIGINT to the parent, which then sends SIGTERM to its child, and waits for the SIGTERM. */
static void wait_for_signal(struct readiness *readiness)
{
	sigset_t term;
	int number;

	(void)sigemptyset(&term);
	(void)sigaddset(&term, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &term, NULL);
	(void)kill(getppid(), SIGINT);
	if (sigwait(&term, &number) == 0)
		readiness_report(readiness, TWINFS_EXIT_INCOMPLETE);
}

static void test_parent_gets_the_report_of_the_child(void **state)
{
	(void)state;
	assert_int_equal(run_child(report_incomplete, 1), TWINFS_EXIT_INCOMPLETE);
	assert_int_equal(wait(NULL) > 0, 1);
}

static void test_child_that_ends_without_report_is_judged_by_its_status(void **state)
{
	(void)state;
	assert_int_equal(run_child(NULL, TWINFS_EXIT_INCOMPLETE), TWINFS_EXIT_INCOMPLETE);
	assert_int_equal(run_child(NULL, 0), TWINFS_EXIT_FAILED);
}

static void test_child_that_was_killed_has_failed(void **state)
{
	(void)state;
	assert_int_equal(run_child(kill_itself, 0), TWINFS_EXIT_FAILED);
}

static void test_child_leaves_stdio_when_it_reports(void **state)
{
	int status = -1;

	(void)state;
	assert_int_equal(run_child(report_when_detached, 0), TWINFS_EXIT_COMPLETE);
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
}

static void test_interrupt_of_the_parent_is_passed_on_to_the_child(void **state)
{
	(void)state;
	interrupt_watch();
	assert_int_equal(run_child(wait_for_signal, 0), TWINFS_EXIT_INCOMPLETE);
	assert_int_equal(interrupt_signal(), SIGINT);
	assert_int_equal(wait(NULL) > 0, 1);
}

static void test_report_without_a_waiting_parent_does_nothing(void **state)
{
	struct readiness readiness;

	(void)state;
	readiness_init(&readiness, 1);
	readiness_report(&readiness, TWINFS_EXIT_COMPLETE);
	assert_true(fcntl(STDERR_FILENO, F_GETFD) >= 0);
}

static void test_last_event_has_the_worst_status_of_all(void **state)
{
	enum twinfs_exit status = TWINFS_EXIT_INCOMPLETE;
	struct readiness readiness;

	(void)state;
	readiness_init(&readiness, 2);
	assert_false(readiness_note(&readiness, &status));
	status = TWINFS_EXIT_COMPLETE;
	assert_true(readiness_note(&readiness, &status));
	assert_int_equal(status, TWINFS_EXIT_INCOMPLETE);
}

static void test_interrupted_parent_ends_the_child_that_reported(void **state)
{
	struct readiness readiness;

	(void)state;
	readiness_init(&readiness, 1);
	assert_int_equal(readiness_fork(&readiness), 0);
	if (readiness.child == 0) {
		(void)signal(SIGTERM, SIG_DFL);
		readiness_report(&readiness, TWINFS_EXIT_COMPLETE);
		for (;;)
			(void)pause();
	}
	interrupt_note(0);
	assert_int_equal(readiness_wait(&readiness), TWINFS_EXIT_COMPLETE);
	interrupt_note(SIGINT);
	assert_false(readiness_conclude(&readiness));
	assert_int_equal(wait(NULL), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parent_gets_the_report_of_the_child),
		cmocka_unit_test(test_child_that_ends_without_report_is_judged_by_its_status),
		cmocka_unit_test(test_child_that_was_killed_has_failed),
		cmocka_unit_test(test_child_leaves_stdio_when_it_reports),
		cmocka_unit_test(test_interrupt_of_the_parent_is_passed_on_to_the_child),
		cmocka_unit_test(test_report_without_a_waiting_parent_does_nothing),
		cmocka_unit_test(test_last_event_has_the_worst_status_of_all),
		cmocka_unit_test(test_interrupted_parent_ends_the_child_that_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
