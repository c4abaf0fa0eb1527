/* SPDX-License-Identifier: MIT */
#ifndef INDEX_SOURCE_CHECK_H
#define INDEX_SOURCE_CHECK_H

/* Refuses sources that changed since they were indexed. The usual cause is a disk that is not
 * mounted, or a source that is the mount point of an unmounted view. --accept-changed-source
 * accepts them. For the main thread.
 */

#include "base/attributes.h"
#include "index/index_settings.h"
#include "source/source.h"

/* Use of the index, which decides what is refused. */
enum source_check_use {
	SOURCE_CHECK_OWN, /* this process updates the index */
	SOURCE_CHECK_WARY, /* this process updates it; an empty source never scanned is refused */
	SOURCE_CHECK_SERVED, /* the index is only read: a change cannot be accepted */
};

/* Compares the opened sources with the index. Returns 0, -ESTALE (logged) or another -errno. */
MUST_CHECK int source_check(const struct sources *sources, const struct index_settings *settings,
			    enum source_check_use use);

/* Refuses empty directories that are the usual mount point of a view. The mount points are those in
 * the index of --index and in all indexes of the default folder.
 *
 * paths	NULL-terminated, resolved
 *
 * Returns 0, -ESTALE (logged) or another -errno. */
MUST_CHECK int source_check_mount_points(char *const *paths, const struct index_settings *settings);

#endif
