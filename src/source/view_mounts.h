/* SPDX-License-Identifier: MIT */
#ifndef SOURCE_VIEW_MOUNTS_H
#define SOURCE_VIEW_MOUNTS_H

/* The views that are mounted. A walk lists no directory of a view, as a view shows files that are
 * indexed in their sources. The list is loaded once and then read by any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attributes.h"

struct view_mounts {
	dev_t devices[64]; /* further mounts are ignored */
	size_t count;
};

/* Reads /proc/self/mountinfo. Without /proc the list is empty. */
void view_mounts_load(struct view_mounts *mounts);

/* Returns true if fd, or a file with this st_dev, is on one of these mounts. */
bool view_mounts_have(const struct view_mounts *mounts, int fd);
bool view_mounts_have_device(const struct view_mounts *mounts, dev_t device);

#endif
