/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_SIGNALS_H
#define VIEW_FUSE_SIGNALS_H

/* Signals of a daemon: SIGINT and SIGTERM end the daemon. SIGHUP ends the daemon or makes it
 * rescan.
 *
 * One thread waits for these signals. To end the daemon, the thread sets the flag of base/stop.h,
 * which stops scans, and calls the callback of signal_watch_attach().
 */

#include <stdbool.h>

#include "base/attributes.h"

struct signal_watch;

/* Begins to wait for signals. Blocks them in the calling thread, and so in all threads that this
 * thread starts later. Call it after the last fork(2) and before any other thread is started.
 *
 * hangup_ends	SIGHUP ends the daemon (in the foreground of a terminal)
 *
 * Returns 0 or -errno. */
MUST_CHECK int signal_watch_new(struct signal_watch **watch, bool hangup_ends);

/* Sets the callback for a SIGHUP that does not end the daemon. The watch's thread calls it. */
void signal_watch_on_hangup(struct signal_watch *watch, void (*hangup)(void *context),
			    void *context);

/* Sets the callback that stops the session; NULL removes it. If a signal that ends the daemon was
 * received before, the callback is called at once. If not, the watch's thread calls it when such a
 * signal arrives. Waits for a running callback. watch may be NULL. */
void signal_watch_attach(struct signal_watch *watch, void (*stop)(void *context), void *context);

/* Returns the last signal that ended the daemon, or 0. Any thread. */
int signal_watch_number(const struct signal_watch *watch);

/* Ends the watch. The signals stay blocked. Accepts NULL. */
void signal_watch_free(struct signal_watch *watch);

#endif
