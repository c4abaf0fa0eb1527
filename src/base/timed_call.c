/* SPDX-License-Identifier: MIT */
#include "base/timed_call.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/stop.h"

/* Interval for polling the child, if pidfd_open() is missing (before Linux 5.3). */
#define PAUSE_MS 10

/* Time limit for the end of a killed child. It ends at once, unless the kernel cannot interrupt its
 * call. */
#define END_MS 500

static bool has_ended(pid_t child)
{
	siginfo_t end = {0};

	return waitid(P_PID, (id_t)child, &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       end.si_pid == child;
}

/* Waits until the child has ended. Returns 0 or -ETIMEDOUT. If a signal can end the wait, returns
 * -EINTR as well. */
static int wait_until(pid_t child, uint64_t deadline_ns, bool interruptible)
{
	AUTO_CLOSE int fd = pidfd_open(child, 0);
	struct pollfd end = {.fd = fd, .events = POLLIN};

	while (!has_ended(child)) {
		uint64_t now_ns = clock_monotonic_ns();

		if (interruptible && stop_requested())
			return -EINTR;
		if (now_ns >= deadline_ns)
			return -ETIMEDOUT;
		(void)poll(&end, 1, fd < 0 ? PAUSE_MS : (int)((deadline_ns - now_ns) / MS_NS) + 1);
	}
	return 0;
}

static void close_all_but(int fd)
{
	for (int other = 0; other < fd; other++)
		(void)close(other);
	closefrom(fd + 1);
}

static pid_t start(int (*call)(void *context), void *context, int fd)
{
	pid_t child = fork();

	if (child != 0)
		return child < 0 ? -errno : child;
	close_all_but(fd);
	_exit(-call(context));
}

/* Kills the child. */
static void abandon(pid_t child)
{
	(void)kill(child, SIGKILL);
	(void)wait_until(child, clock_monotonic_ns() + END_MS * MS_NS, false);
	(void)waitpid(child, NULL, WNOHANG);
}

/* Returns the result of a child that has ended. */
static int result_of(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

int call_with_timeout(int (*call)(void *context), void *context, int fd, unsigned int timeout_ms)
{
	uint64_t deadline_ns = clock_monotonic_ns() + timeout_ms * MS_NS;
	pid_t child = start(call, context, fd);
	int r = child < 0 ? child : wait_until(child, deadline_ns, false);

	if (r == 0)
		return result_of(child);
	if (child > 0)
		abandon(child);
	return r;
}

int call_while(int (*call)(void *context), int (*check)(void *context), void *context,
	       unsigned int interval_ms)
{
	pid_t child = start(call, context, -1);
	int r = child < 0 ? child : -ETIMEDOUT, answer = 0;

	while (r == -ETIMEDOUT && answer == 0) {
		r = wait_until(child, clock_monotonic_ns() + interval_ms * MS_NS, true);
		answer = r == -ETIMEDOUT ? check(context) : 0;
	}
	if (r == 0)
		return result_of(child);
	if (child > 0)
		abandon(child);
	return answer < 0 ? answer : r;
}
