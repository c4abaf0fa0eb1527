/* SPDX-License-Identifier: MIT */
#ifndef INDEX_VIEW_SYNC_H
#define INDEX_VIEW_SYNC_H

/* Synchronization with a view. Any thread. */

#include "base/attributes.h"

/* Waits until the view shows all changes of its sources made up to now: reads its .twinfs/sync. Can
 * block for long. Returns 0 or -errno. Logs nothing. */
MUST_CHECK int view_sync(const char *mount_point);

#endif
