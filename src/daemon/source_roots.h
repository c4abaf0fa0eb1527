/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_SOURCE_ROOTS_H
#define DAEMON_SOURCE_ROOTS_H

/* Checks of the source roots: whether each is still the directory at its path. One thread. */

#include <stdint.h>

#include "source/source.h"
#include "watch/watch.h"

/* Examines the path of each source. A source that was removed, moved, unmounted or hidden by
 * another mount is marked missing, and its index entries stay unchanged. If the path leads to a new
 * directory on the same file system, this directory replaces the old root. But a new directory that
 * is empty, while the index has names in the source, counts as missing. So does a root that cannot
 * be listed because its device does not work. The root of a missing source whose mount was detached
 * is closed, so that its disk is not in use any more.
 *
 * watch	NULL if all sources are polled
 *
 * Returns a mask: bit n is set if source n, at most 63, must be walked again. Further sources are
 * polled. Logs each source that becomes missing or is back. */
uint64_t source_roots_check(const struct sources *sources, struct watch *watch);

#endif
