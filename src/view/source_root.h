/* SPDX-License-Identifier: MIT */
#ifndef VIEW_SOURCE_ROOT_H
#define VIEW_SOURCE_ROOT_H

/* Opens the root of a source from / down, as the user whose rights are checked. Any thread.
 *
 * No mount is entered but those that the source itself is below. A user can mount a file system of
 * his own above a source, and a request to its server can take forever. Nothing is asked of a mount
 * that is not entered. */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "source/source.h"

/* Mounts above a source at most that are entered. */
#define SOURCE_ROOT_MOUNTS_MAX 32

/* The way to a source. */
struct source_root {
	const char *path; /* absolute, borrowed */
	/* The mount of the source, then those that it is mounted below. None: the kernel does not
	 * tell mounts apart, and all are entered. */
	uint64_t mounts[SOURCE_ROOT_MOUNTS_MAX];
	size_t count;
};

/* Finds the mount of a source. 0, or -EACCES if the source is missing. */
MUST_CHECK int source_root_find(struct source_root *root, const struct source *source);

/* Adds the mounts above that one, from /proc/self/mountinfo, which a user of a view cannot always
 * open. */
void source_root_add_above(struct source_root *root);

/* Opens the root of the source (O_PATH). Returns a descriptor that the caller closes, -EXDEV if a
 * mount that is not in the list is on the way, or another -errno. */
MUST_CHECK int source_root_open(const struct source_root *root);

#endif
