/* SPDX-License-Identifier: MIT */
#ifndef INDEX_MOUNTS_H
#define INDEX_MOUNTS_H

/* What is mounted below the sources, from /proc/self/mountinfo: views, and file systems that an
 * index leaves out. Any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/text.h"

struct catalog_reader;
struct sources;

/* Adds the absolute path of each file system and subvolume below the sources that an index leaves
 * out, because its walks stay on the file system of each source. File systems without files of
 * users, such as proc and a view, are not added. Reads /proc/self/mountinfo, and asks no file
 * system. Returns 0 or -errno. */
MUST_CHECK int left_out_list(struct catalog_reader *reader, const struct sources *sources,
			     struct text_list *paths);

/* ---- mounted views -------------------------------------------------------------------------- */

/* The views that are mounted. A walk lists no directory of a view, as a view shows files that are
 * indexed in their sources. The list is loaded once and then read by any thread. */

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
