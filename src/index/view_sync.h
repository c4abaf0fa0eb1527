/* SPDX-License-Identifier: MIT */
#ifndef INDEX_VIEW_SYNC_H
#define INDEX_VIEW_SYNC_H

/* What a program does that wants to see a view as its sources are now. Any thread. */

#include "base/attributes.h"

/* Waits until everything that happened in its sources up to now is in the view: reads its
 * .twinfs/sync, for as long as that takes. 0 or -errno, nothing logged. */
MUST_CHECK int view_sync(const char *mount_point);

#endif
