/* SPDX-License-Identifier: MIT */
#ifndef INDEX_INDEX_HOLDER_H
#define INDEX_INDEX_HOLDER_H

/* The process that holds the lock of an index. For a process with one thread. */

#include <stdbool.h>

#include "base/attributes.h"

/* Returns whether the index in this folder is free or can become free soon. The index is free if no
 * process holds the lock. The index can become free soon if the holder has not written its pid yet.
 * This is also so if the holder is a daemon that was killed or whose view is not mounted. Returns
 * false for a mounted view, a scan or another command. Reads the status of a view at the daemon's
 * mount point, which takes at most two seconds. */
MUST_CHECK bool index_holder_may_end(const char *folder);

/* Logs which process uses the index, and the remedy. */
void index_holder_explain(const char *folder);

#endif
