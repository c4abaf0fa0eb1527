/* SPDX-License-Identifier: MIT */
#include "base/stop.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"

static atomic_bool stop_flag;

void stop_request(void)
{
	atomic_store(&stop_flag, true);
}

bool stop_requested(void)
{
	return atomic_load_explicit(&stop_flag, memory_order_relaxed);
}

void stop_or_await_file_time(int64_t end_ns)
{
	int64_t before_ns = clock_file_ns();

	for (int i = 0; i < 20 && clock_file_ns() == before_ns; i++)
		clock_sleep_ms(1);
	for (int i = 0; i < 300 && clock_file_ns() <= end_ns && !stop_requested(); i++)
		clock_sleep_ms(10);
}

/* ---- signals ----------------------------------------------------------------------- */

/* Interval at which the guard checks the stop flag, as a signal is normally not received by it. */
#define GUARD_INTERVAL_S 1

static const int watched[] = {SIGINT, SIGTERM, SIGHUP};
static atomic_int stopped_by; /* without a lock, so a signal handler can write it */
static atomic_bool never_late; /* interrupt_guard(false) was called */

static void take_signal(int number)
{
	int saved = errno;

	atomic_store(&stopped_by, number);
	stop_request();
	errno = saved;
}

void interrupt_watch(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
		struct sigaction action = {.sa_handler = take_signal, .sa_flags = SA_RESETHAND};
		struct sigaction before;

		/* a shell ignores SIGINT for background processes; nohup(1) ignores SIGHUP */
		if (sigaction(watched[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			(void)sigaction(watched[i], &action, NULL);
	}
}

void interrupt_note(int number)
{
	atomic_store(&stopped_by, number);
}

int interrupt_signal(void)
{
	return atomic_load(&stopped_by);
}

void interrupt_raise(int number)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, number);
	(void)signal(number, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &signals, NULL); /* daemons block it */
	(void)raise(number);
}

/* Returns whether the process handles the signal by interrupt_watch(), or did so before. */
static bool is_handled(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN;
}

/* Passes a signal to the main thread, whose present call possibly ends by it. If this was done
 * before, ends the process. */
static void pass_on(pthread_t main, int number)
{
	if (stop_requested())
		interrupt_raise(number);
	take_signal(number);
	pthread_kill(main, number);
}

static void *guard(void *context)
{
	static const struct timespec interval = {.tv_sec = GUARD_INTERVAL_S};
	const pthread_t *main = context;
	uint64_t stopped_ns = 0, now_ns;
	sigset_t signals;
	int number;

	(void)sigemptyset(&signals);
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
		if (is_handled(watched[i]))
			(void)sigaddset(&signals, watched[i]);
	}
	for (;;) {
		/* The main thread receives a signal first, unless it waits in a system call that
		 * only a deadly signal ends. */
		number = sigtimedwait(&signals, NULL, &interval);
		if (number > 0)
			pass_on(*main, number);
		now_ns = clock_monotonic_ns();
		if (!stop_requested())
			continue;
		if (stopped_ns == 0)
			stopped_ns = now_ns;
		if (never_late || now_ns - stopped_ns < INTERRUPT_GRACE_S * SECOND_NS)
			continue;
		/* Even a deadly signal does not end a wait for the answer of a FUSE server that has
		 * received the request. */
		log_error("ending late: a file system does not answer; if this process stays, run "
			  "as root: umount -f MOUNTPOINT of that file system");
		interrupt_raise(interrupt_signal() ? interrupt_signal() : SIGTERM);
	}
	return NULL;
}

void interrupt_guard(bool late)
{
	static pthread_t thread, main;
	static bool runs;

	if (!late)
		atomic_store(&never_late, true);
	if (runs)
		return;
	main = pthread_self();
	/* without it, only the second signal cannot end the process */
	runs = thread_start(&thread, guard, &main) == 0 && pthread_detach(thread) == 0;
}
