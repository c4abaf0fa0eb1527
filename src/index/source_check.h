/* SPDX-License-Identifier: MIT */
#ifndef INDEX_SOURCE_CHECK_H
#define INDEX_SOURCE_CHECK_H

/* Refuses sources that are not what they were: a disk is not mounted, or a mount point is given whose
 * view is not mounted. --accept-changed-source goes on. For the first thread.
 */

#include "base/attributes.h"
#include "index/index_settings.h"
#include "source/source.h"

/* What else is refused, or cannot be accepted. */
enum source_check_use {
	SOURCE_CHECK_OWN, /* this process brings the index up to date */
	SOURCE_CHECK_WARY, /* the same, and an empty source that was never scanned is refused */
	SOURCE_CHECK_SERVED, /* the index is only read: a change cannot be accepted */
};

/* Compares the sources, as opened, with the index. 0, -ESTALE (logged) or another -errno. */
MUST_CHECK int source_check(const struct sources *sources, const struct index_settings *settings,
			    enum source_check_use use);

/* Looks for empty directories on which a view is usually mounted: an index in the default place, or
 * the one that was named, has it as the mount point of its view.
 *
 * paths	NULL-terminated, resolved
 *
 * 0, -ESTALE (logged) or another -errno. */
MUST_CHECK int source_check_mount_points(char *const *paths, const struct index_settings *settings);

#endif
