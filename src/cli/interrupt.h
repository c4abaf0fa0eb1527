/* SPDX-License-Identifier: MIT */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

/* SIGINT, SIGTERM and SIGHUP for commands that come to an end by themselves. (A daemon's are in
 * mount/signals.h.)
 */

/* From now on the first of these signals sets the flag of base/stop.h, so that what was done is
 * kept; the next one kills, should that take too long. For the first thread. */
void interrupt_watch(void);

/* The signal that came; 0: none did. Any thread. */
int interrupt_signal(void);

#endif
