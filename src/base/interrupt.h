/* SPDX-License-Identifier: MIT */
#ifndef BASE_INTERRUPT_H
#define BASE_INTERRUPT_H

/* SIGINT, SIGTERM and SIGHUP in commands that end by themselves. In a daemon, mount/signals.h
 * handles these signals.
 */

/* Handles these signals, except those that are ignored. Each signal sets the flag of base/stop.h,
 * so that completed work is kept. The same signal again kills the process, in case stopping takes
 * too long. For the main thread. */
void interrupt_watch(void);

/* Records a signal that was received without interrupt_watch(). Does not set the flag. */
void interrupt_note(int number);

/* Returns the last received signal, or 0. Any thread. */
int interrupt_signal(void);

/* Ends this process by the signal, so that a shell also ends the loop that runs the process. */
void interrupt_raise(int number);

#endif
