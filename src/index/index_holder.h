/* SPDX-License-Identifier: MIT */
#ifndef INDEX_INDEX_HOLDER_H
#define INDEX_INDEX_HOLDER_H

/* The process that holds the lock of an index: whether it is about to end. For a process that has one
 * thread. */

#include <stdbool.h>

#include "base/attributes.h"

/* Whether the index in this folder may be free soon or is free already. True for a daemon whose view is
 * not mounted, for one that was killed, for a process that has not written its pid yet, and if no
 * process holds the lock. False for a mounted view, and for a scan or another command. Asks a view that
 * is mounted at the daemon's mount point which index it serves, for at most two seconds. */
MUST_CHECK bool index_holder_may_end(const char *folder);

/* Logs which process uses the index, and what to do. */
void index_holder_explain(const char *folder);

#endif
