/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_RESTORE_ONLY_H
#define BACKUP_RESTORE_ONLY_H

/* The names that a restore brings back, if not all: some paths, and everything below them. Paths
 * are those of a manifest. One thread. */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/text_list.h"

struct restore_only {
	struct text_list paths; /* none: all names */
	bool *found; /* for each path: restore_only_note() met it */
	size_t found_capacity;
};

void restore_only_free(struct restore_only *only);

/* Adds a path. Slashes at its end are ignored. Returns 0, -EINVAL if no manifest can have the path,
 * or -ENOMEM. */
MUST_CHECK int restore_only_add(struct restore_only *only, const char *path);

enum restore_part {
	RESTORE_NOTHING, /* of the path and of all names below it */
	RESTORE_ABOVE, /* the path is a directory above a path to restore */
	RESTORE_WHOLE, /* the path and everything below it */
};

/* Returns what of a path is restored. "" is the root. */
enum restore_part restore_only_part(const struct restore_only *only, const void *path,
				    size_t length);

/* Notes that a path exists. */
void restore_only_note(struct restore_only *only, const void *path, size_t length);

/* Returns a path that was not noted and does not exist in the backup, or NULL.
 *
 * backup	an open directory
 */
const char *restore_only_find_missing(const struct restore_only *only, int backup);

#endif
