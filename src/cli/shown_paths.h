/* SPDX-License-Identifier: MIT */
#ifndef CLI_SHOWN_PATHS_H
#define CLI_SHOWN_PATHS_H

/* The sources as the user wrote them. Paths are printed in this form. */

#include <stddef.h>

#include "base/attributes.h"

struct sources;

struct shown_paths {
	const char **list; /* for each source, borrowed from argv or from the sources */
};

/* Finds for each source the first given path that leads to it, or its absolute path if none does.
 * Returns 0 or -ENOMEM. */
MUST_CHECK int shown_paths_make(struct shown_paths *shown, const struct sources *sources,
				char *const *given, size_t count);
void shown_paths_free(struct shown_paths *shown);

#endif
