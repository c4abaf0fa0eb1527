/* SPDX-License-Identifier: MIT */
#ifndef INGEST_EXCLUDE_H
#define INGEST_EXCLUDE_H

/* Globs that name what the user wants left out. Read by any thread. */

#include <stdbool.h>

struct exclude {
	char *const *globs; /* NULL-terminated, borrowed; NULL: none */
};

/* Does a glob hold a slash? Else dir_path does not matter. */
bool exclude_has_paths(const struct exclude *exclude);

/* Does a glob match? One without a slash is held against the name, one with a slash against the
 * path relative to the source (dir_path, "" for its root, and name). '*' does not match '/'. */
bool exclude_matches(const struct exclude *exclude, const char *dir_path, const char *name);

#endif
