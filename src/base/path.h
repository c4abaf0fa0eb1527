/* SPDX-License-Identifier: MIT */
#ifndef BASE_PATH_H
#define BASE_PATH_H

/* Paths as text: what lies in which folder, and what a glob matches. Pure code, any thread. */

#include <stdbool.h>

/* What of path is behind folder and a slash: "" for the folder itself, NULL where it is not in it.
 * Whole components count. Both are absolute and without symlinks, or both relative to the same
 * folder; the result points into path. */
const char *path_below(const char *path, const char *folder);

/* Whether a glob (7 glob) needs to know more of a path than its last name: it has a slash. */
bool glob_has_slash(const char *glob);

/* Whether a glob matches a path that is relative to its source. One without a slash is held against
 * the last name of the path, which alone will do; one with a slash against the path, and '*' does
 * not match '/'. A slash in front of the glob means nothing more. */
bool glob_matches(const char *glob, const char *path);

/* The same for the path or a folder that it lies in: what would not be there if the glob had been
 * given to --exclude. */
bool glob_matches_within(const char *glob, const char *path);

#endif
