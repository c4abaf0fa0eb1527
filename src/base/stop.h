/* SPDX-License-Identifier: MIT */
#ifndef BASE_STOP_H
#define BASE_STOP_H

/* The stop flag, and the signals that set it. All long work of this process stops when the flag is
 * set. Any thread, and signal handlers. */

#include <stdbool.h>
#include <stdint.h>

void stop_request(void);
bool stop_requested(void);

/* Waits until the time of clock_file_ns() advances, at most 20 ms, and until it is after end_ns, at
 * most 3 s. Ends early if a stop is requested. */
void stop_or_await_file_time(int64_t end_ns);

/* A check that long work makes regularly. If a signal has interrupted the program that waits for
 * the result, the work ends with -EINTR. */
struct cancellation {
	/* Returns whether the work must end. Cheap; any thread that does the work calls it. */
	bool (*is_requested)(void *context);
	void *context;
};

/* Returns whether cancellation was requested. cancellation is NULL for work that cannot be
 * cancelled. */
static inline bool cancellation_is_requested(const struct cancellation *cancellation)
{
	return cancellation && cancellation->is_requested(cancellation->context);
}

/* ---- signals ----------------------------------------------------------------------- */

/* SIGINT, SIGTERM and SIGHUP in commands that end by themselves. In a daemon, view/fuse/session.c
 * handles these signals. */

/* How long a process that was interrupted can wait for a file system that does not answer. */
#define INTERRUPT_GRACE_S 10

/* Handles these signals, except those that are ignored. Each signal sets the flag of base/stop.h,
 * so that completed work is kept. The same signal again kills the process, in case stopping takes
 * too long. For the main thread. */
void interrupt_watch(void);

/* Starts a thread that handles these signals while the main thread waits for a file system that
 * does not answer: a handler runs only after the system call has ended. After interrupt_watch() and
 * the last fork(2) without exec(3). Further calls start no thread.
 *
 * late		whether the thread kills the process if it has not ended INTERRUPT_GRACE_S after the
 *		signal; a later call can set this to false, but not to true */
void interrupt_guard(bool late);

/* Records a signal that was received without interrupt_watch(). Does not set the flag. */
void interrupt_note(int number);

/* Returns the last received signal, or 0. Any thread. */
int interrupt_signal(void);

/* Ends this process by the signal, so that a shell also ends the loop that runs the process. */
void interrupt_raise(int number);

#endif
