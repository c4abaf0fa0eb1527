/* SPDX-License-Identifier: MIT */
#ifndef BASE_PATH_H
#define BASE_PATH_H

/* Paths as text: containment and globs. Pure code, any thread. */

#include <stdbool.h>

/* Returns the part of path below folder, without the slash; "" for the folder itself; NULL if path
 * is not inside. Compares whole components. Both paths are absolute and without symlinks, or both
 * relative to the same folder and not empty. The result points into path. */
const char *path_below(const char *path, const char *folder);

/* Returns whether a glob (glob(7)) has a slash, so that it must be matched with the whole path. */
bool glob_has_slash(const char *glob);

/* Returns whether a glob matches a path relative to its source. A glob without a slash is matched
 * with the last component, so path can be only the last component. A glob with a slash is matched
 * with the whole path, and '*' does not match '/'. A leading slash of the glob has no other
 * meaning. */
bool glob_matches(const char *glob, const char *path);

/* Returns whether a glob matches the path or a folder that contains it: whether --exclude with this
 * glob would leave out the path. */
bool glob_matches_within(const char *glob, const char *path);

#endif
