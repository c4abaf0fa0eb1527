/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/timed_call.h"
#include "unit_test.h"

#define LONG_MS 60000
#define SHORT_MS 20

static int answer(void *context)
{
	const int *result = context;

	return *result;
}

static int never_answer(void *context)
{
	const int *pipe = context;
	char byte;

	return (int)read(*pipe, &byte, sizeof(byte));
}

static int die(void *context)
{
	(void)context;
	return raise(SIGKILL);
}

static void test_bytes_of_the_child_are_returned(void **state)
{
	int results[] = {0, -EIO, -ENOTCONN};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		assert_int_equal(call_with_timeout(answer, &results[i], -1, LONG_MS), results[i]);
}

static void test_child_that_writes_nothing_times_out(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(call_with_timeout(never_answer, &ends[0], ends[0], SHORT_MS), -ETIMEDOUT);
	/* the child has ended, and so uses no file system any more */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void test_child_that_is_killed_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(call_with_timeout(die, NULL, -1, LONG_MS), -EIO);
}

static int write_whether_open(void *context)
{
	const int *fds = context;
	bool kept = fcntl(fds[0], F_GETFD) >= 0;
	bool others = fcntl(fds[1], F_GETFD) >= 0 || fcntl(STDERR_FILENO, F_GETFD) >= 0;

	return kept && !others ? 0 : -EBADF;
}

static void test_child_has_only_one_descriptor(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(call_with_timeout(write_whether_open, ends, ends[0], LONG_MS), 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* ---- call_while() --------------------------------------------------------------------- */

static int checks;

static int wait_for_a_signal(void *context)
{
	(void)context;
	return pause();
}

static int still_answers(void *context)
{
	(void)context;
	checks++;
	return checks < 3 ? 0 : -ENOTCONN;
}

static void test_call_lasts_as_long_as_its_file_system_answers(void **state)
{
	(void)state;
	assert_int_equal(call_while(wait_for_a_signal, still_answers, NULL, 1), -ENOTCONN);
	assert_int_equal(checks, 3);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(call_while(die, still_answers, NULL, LONG_MS), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_of_the_child_are_returned),
		cmocka_unit_test(test_child_that_writes_nothing_times_out),
		cmocka_unit_test(test_child_that_is_killed_is_an_error),
		cmocka_unit_test(test_child_has_only_one_descriptor),
		cmocka_unit_test(test_call_lasts_as_long_as_its_file_system_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
