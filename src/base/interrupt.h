/* SPDX-License-Identifier: MIT */
#ifndef BASE_INTERRUPT_H
#define BASE_INTERRUPT_H

/* SIGINT, SIGTERM and SIGHUP in commands that end by themselves. In a daemon, view/fuse/signals.h
 * handles these signals.
 */

#include <stdbool.h>

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
