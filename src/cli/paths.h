/* SPDX-License-Identifier: MIT */
#ifndef CLI_PATHS_H
#define CLI_PATHS_H

/* Paths that users name, and that are printed for them. For the first thread. */

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/output.h"

/* The mount point of the view that has this path, a symlink itself and not where it leads; the
 * caller frees it. NULL, and 0, where it is in none; -errno. */
MUST_CHECK int path_find_view(const char *path, char **mount_point);

/* Appends the path in its source of what is at a path in a view, as the view has it in
 * user.twinfs.path. 0; -ENODATA for something that is in no source; or -errno. */
MUST_CHECK int path_in_source(const char *path_in_view, struct bytes *source_path);

/* How a command prints paths. */
enum path_ending {
	PATH_LINES, /* one a line */
	PATH_NULS, /* each with a NUL behind it */
};

/* Prints a path, quoted on a terminal (output_name). */
void path_print(struct output *output, enum path_ending ending, const char *path, size_t length);

#endif
