/* SPDX-License-Identifier: MIT */
#ifndef INDEX_VIEW_SYNC_H
#define INDEX_VIEW_SYNC_H

/* Synchronization with a view. For a process with one thread. */

#include "base/attributes.h"

/* Waits until the view shows all changes of its sources made up to now: reads its .twinfs/sync. A
 * child process reads it, which can take long. Returns 0, -EINTR after a signal, -ETIMEDOUT if the
 * daemon does not answer any more, because it is stopped or hangs, or another -errno. Logs
 * nothing. */
MUST_CHECK int view_sync(const char *mount_point);

/* Works like view_sync(), and before has the daemon map the extents of all groups again: reads
 * .twinfs/remap. */
MUST_CHECK int view_remap(const char *mount_point);

#endif
