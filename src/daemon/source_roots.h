/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_SOURCE_ROOTS_H
#define DAEMON_SOURCE_ROOTS_H

/* Are the sources still where they were? One thread. */

#include <stdint.h>

#include "source/source.h"
#include "watch/watch.h"

/* Examines the path of each source. One that is gone (removed, moved away, unmounted, hidden by
 * another file system) is marked missing, and what the index has of it stays as it is. One that is
 * back, or was made anew on the same file system and has something in it, is opened in its place.
 *
 * watch	NULL where nothing is watched
 *
 * Returns bit n for each source n that must be walked anew; those above 63 are polled. Logs what
 * changes. */
uint64_t source_roots_check(const struct sources *sources, struct watch *watch);

#endif
