/* SPDX-License-Identifier: MIT */
#ifndef SCAN_INDEX_OPEN_H
#define SCAN_INDEX_OPEN_H

/* Opens an index read-only, and logs why an index cannot be opened. For the main thread. */

#include <stdbool.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "index/catalog.h"

/* Logs why an index could not be opened, and the remedy.
 *
 * outcome	result of catalog_open(): positive or -errno
 */
void index_explain(const char *folder, int outcome);

/* Opens an index read-only. Returns the result of catalog_open(). */
MUST_CHECK int index_open_read_only(const char *folder, struct catalog **catalog);

/* ---- the process that holds the lock ------------------------------------------------ */

/* The process that holds the lock of an index. For a process with one thread. */

/* Returns true if no process holds the lock of the index in this folder, or if the holder possibly
 * ends soon. This is a process that has not written its pid yet, or a daemon whose view is not
 * mounted or whose view answers that the daemon was killed. Returns false for another holder, or if
 * the lock cannot be examined. Reads the status of a view at the daemon's mount point, which takes
 * at most two seconds. */
MUST_CHECK bool index_holder_may_end(const char *folder);

/* Returns whether a process is stopped by a signal. */
bool index_holder_is_stopped(pid_t pid);

#endif
