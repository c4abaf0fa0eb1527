/* SPDX-License-Identifier: MIT */
#ifndef BASE_INTERRUPT_H
#define BASE_INTERRUPT_H

/* SIGINT, SIGTERM and SIGHUP for commands that come to an end by themselves. (A daemon's are in
 * mount/signals.h.)
 */

/* From now on the first of these signals sets the flag of base/stop.h, so that what was done is
 * kept; the next one kills, should that take too long. For the first thread. */
void interrupt_watch(void);

/* Says that one came, for who learned of it in another way. */
void interrupt_note(int number);

/* The signal that came; 0: none did. Any thread. */
int interrupt_signal(void);

/* Ends this process by the signal, so that a shell ends the loop that we may be in. */
void interrupt_raise(int number);

#endif
