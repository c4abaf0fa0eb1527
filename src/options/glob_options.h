/* SPDX-License-Identifier: MIT */
#ifndef OPTIONS_GLOB_OPTIONS_H
#define OPTIONS_GLOB_OPTIONS_H

/* Options whose value is a glob, or a file of globs. For the main thread. */

#include "base/attributes.h"
#include "base/text_list.h"

/* Adds the glob of an option, like "--path". Returns 0, -EBADMSG (logged) for a malformed glob, or
 * -ENOMEM. */
MUST_CHECK int glob_option_add(struct text_list *globs, const char *option, const char *glob);

/* Adds the globs of a file, one in each line. Empty lines, and lines that begin with '#', are
 * skipped; a backslash before '#' makes it a part of the glob. Returns 0, -EBADMSG (logged) for a
 * malformed line, or another -errno. */
MUST_CHECK int glob_option_add_file(struct text_list *globs, const char *file);

#endif
