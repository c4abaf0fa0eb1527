/* SPDX-License-Identifier: MIT */
#ifndef BASE_PATH_H
#define BASE_PATH_H

/* Paths as text: containment and globs. Pure code, any thread. */

#include <stdbool.h>
#include <stddef.h>

/* Returns the part of path below folder, without the slash; "" for the folder itself; NULL if path
 * is not inside. Compares whole components. Both paths are absolute and without symlinks, or both
 * relative to the same folder and not empty. The result points into path. */
const char *path_below(const char *path, const char *folder);

/* Maximum length of a name in a directory, in bytes. */
#define NAME_BYTES_MAX 255

/* Returns a static message if the bytes are not a valid path below a directory, else NULL. Invalid
 * paths are empty, absolute, contain a NUL, or have a component that is empty, ".", ".." or longer
 * than NAME_BYTES_MAX. */
const char *path_fault(const char *path, size_t length);

/* Returns the last component of a path, which does not end with a slash. The result points into
 * path. */
const char *path_base_name(const char *path);

/* Maximum length of a glob: that of a path. */
#define GLOB_BYTES_MAX 4095

/* Globs (glob(7)), as for --exclude. A glob with a slash is matched with the whole path below the
 * source, and '*' does not match '/'. A glob without one is matched with a name. Slashes at the end
 * do not count for that; they restrict the glob to folders. A leading slash has no other meaning.
 */

/* Returns whether a glob must be matched with the whole path. */
bool glob_has_slash(const char *glob);

/* Returns whether a glob ends with a slash, so that it is for folders only. */
bool glob_is_for_folders(const char *glob);

/* Returns whether a glob matches a path relative to its source. If the glob has no slash, path can
 * be only the last component. The caller must check that a match of a glob for folders is one. */
bool glob_matches(const char *glob, const char *path);

/* Returns whether a glob matches the path of a file or a folder that contains the file: whether
 * --exclude with this glob would leave out the file. */
bool glob_matches_within(const char *glob, const char *path);

/* As glob_matches_within(), but ASCII letters match in both cases. */
bool glob_matches_within_any_case(const char *glob, const char *path);

/* Returns what is wrong with a glob, or NULL. The functions above match a malformed glob with
 * nothing, or take a bracket that is not closed for a character. */
const char *glob_fault(const char *glob);

#endif
