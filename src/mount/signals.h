/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_SIGNALS_H
#define MOUNT_SIGNALS_H

/* SIGINT and SIGTERM as the end of a daemon; SIGHUP as its end, too, or to have it look anew.
 *
 * One thread waits for them. When the end comes it sets the flag of base/stop.h, so that scans end,
 * and calls what signal_watch_attach() was given.
 */

#include <stdbool.h>

#include "base/attributes.h"

struct signal_watch;

/* Begins to watch: blocks these signals in the calling thread, and so in all threads that it
 * starts later. Call it after the last fork(2) and before any other thread is started.
 *
 * hangup_ends	SIGHUP ends the daemon (one that stays in front of a terminal)
 */
MUST_CHECK int signal_watch_new(struct signal_watch **watch, bool hangup_ends);

/* What is done on SIGHUP where that does not end the daemon; called in the watch's thread, from now
 * on. */
void signal_watch_on_hangup(struct signal_watch *watch, void (*hangup)(void *context),
			    void *context);

/* Sets the callback that stops the session, NULL for none. It is called at once if a signal came
 * before, else from the thread of the watch. Accepts a watch that is NULL. */
void signal_watch_attach(struct signal_watch *watch, void (*stop)(void *context), void *context);

/* The signal that ended the daemon, 0: none did. Any thread. */
int signal_watch_number(const struct signal_watch *watch);

/* Ends the watch; the signals stay blocked. Accepts NULL. */
void signal_watch_free(struct signal_watch *watch);

#endif
