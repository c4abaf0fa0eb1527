/* SPDX-License-Identifier: MIT */
#ifndef INGEST_EXCLUDE_H
#define INGEST_EXCLUDE_H

/* Globs of names that the user excludes: a list that ends with a NULL, or NULL for no globs. Pure
 * code. */

#include <stdbool.h>
#include <stddef.h>

/* Returns true if a glob has a slash. If not, exclude_matches() does not use dir_path. */
bool exclude_has_paths(char *const *globs);

enum exclusion {
	EXCLUDE_NONE,
	EXCLUDE_NAME, /* whatever the name is */
	EXCLUDE_FOLDER, /* only if the name is a directory */
};

/* Returns what the globs exclude. A glob without a slash is compared with the name. A glob with a
 * slash is compared with the path in the source: dir_path ("" for the root of the source) and name.
 * '*' does not match '/'. A glob with a slash at its end excludes directories only. Unless the
 * result is EXCLUDE_NONE, sets *which to the number of the glob. */
enum exclusion exclude_matches(char *const *globs, const char *dir_path, const char *name,
			       size_t *which);

#endif
