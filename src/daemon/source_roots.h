/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_SOURCE_ROOTS_H
#define DAEMON_SOURCE_ROOTS_H

/* Checks of the source roots: whether each is still the directory at its path. One thread. */

#include <stdint.h>

#include "source/source.h"
#include "watch/watch.h"

/* Examines the path of each source. A source that was removed, moved, unmounted or hidden by
 * another mount is marked missing, and its index entries stay unchanged. If the path leads to a new
 * directory on the same file system that is not empty, this directory replaces the old root.
 *
 * watch	NULL if all sources are polled
 *
 * Returns bit n for each source n that must be walked again; sources above 63 are polled. Logs each
 * change. */
uint64_t source_roots_check(const struct sources *sources, struct watch *watch);

#endif
