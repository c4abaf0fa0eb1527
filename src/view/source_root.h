/* SPDX-License-Identifier: MIT */
#ifndef VIEW_SOURCE_ROOT_H
#define VIEW_SOURCE_ROOT_H

/* Opens the root of a source from / down, with the caller's permissions. Any thread.
 *
 * Only the mounts that contain the source are entered. A user can mount a file system above a
 * source, and a request to the server of that file system can block forever. Other mounts are never
 * accessed. */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "source/source.h"

/* Maximum number of mounts on the path to a source that can be entered. */
#define SOURCE_ROOT_MOUNTS_MAX 32

/* The path to a source and the mounts on it. */
struct source_root {
	const char *path; /* absolute, borrowed */
	/* The mount of the source, then the mounts above it. Empty if the kernel does not
	 * distinguish mounts; in that case all mounts are entered. */
	uint64_t mounts[SOURCE_ROOT_MOUNTS_MAX];
	size_t count;
};

/* Finds the mount of a source. Returns 0, or -EACCES if the source is missing. */
MUST_CHECK int source_root_find(struct source_root *root, const struct source *source);

/* Adds the mounts above the source from /proc/self/mountinfo. Must run before the credentials
 * change, as the caller cannot always open that file. */
void source_root_add_parents(struct source_root *root);

/* Opens the root of the source (O_PATH). Returns a descriptor that the caller closes, -EXDEV if a
 * mount that is not in the list is on the path, or another -errno. */
MUST_CHECK int source_root_open(const struct source_root *root);

#endif
