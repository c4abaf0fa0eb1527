/* SPDX-License-Identifier: MIT */
#ifndef CLI_PATHS_H
#define CLI_PATHS_H

/* Paths in operands and paths in the output. For the main thread. */

#include <stddef.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/options.h"
#include "base/output.h"
#include "cli/common_options.h"

/* Finds the mount point of the view that contains a path. If the path is a symlink, it is not
 * followed. Sets *mount_point, which the caller frees, or to NULL if the path is in no view.
 * Returns 0 or -errno. */
MUST_CHECK int path_find_view(const char *path, char **mount_point);

/* Appends the source path of a file or directory in a view, from the attribute user.twinfs.path.
 * Returns 0, -ENODATA if the file is in no source, or another -errno. */
MUST_CHECK int path_in_source(const char *path_in_view, struct bytes *source_path);

/* How a command prints paths. */
enum path_ending {
	PATH_LINES, /* one per line */
	PATH_NULS, /* each followed by a NUL */
};

/* Prints a path, quoted if the output is a terminal (output_name). */
void path_print(struct output *output, enum path_ending ending, const char *path, size_t length);

/* The settings of the commands that print paths. */
struct path_settings {
	struct common_settings common;
	enum path_ending ending;
};

extern const struct option_spec path_options[]; /* --null */

#endif
