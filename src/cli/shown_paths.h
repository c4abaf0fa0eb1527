/* SPDX-License-Identifier: MIT */
#ifndef CLI_SHOWN_PATHS_H
#define CLI_SHOWN_PATHS_H

/* How the user wrote the sources: paths are printed that way back. */

#include <stddef.h>

#include "base/attributes.h"

struct sources;

struct shown_paths {
	const char **list; /* for each source, borrowed from argv or from the sources */
};

/* Finds for each source the first path given that leads to it; where there is none, it is shown by
 * its absolute path. 0 or -ENOMEM. */
MUST_CHECK int shown_paths_make(struct shown_paths *shown, const struct sources *sources,
				char *const *given, size_t count);
void shown_paths_free(struct shown_paths *shown);

#endif
